-- Asks for the sum of two random numbers, so every request is different.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"

function request()
  local a, b = math.random(100), math.random(100)
  return wrk.format(nil, "/api/sum", nil, string.format('{"a":%d,"b":%d}', a, b))
end
