var j = JSON.parse(responseBody);
pm.test("x", () => { pm.expect(j.a["b-c"][0]).to.have.property('d', [1, {e: null}]) });
if (j.id) { postman.setEnvironmentVariable("id", j.id) } else { x = /a\/[/]/g }
tests["t"] = responseTime < 200;
`${a}` + '{{$guid}}
