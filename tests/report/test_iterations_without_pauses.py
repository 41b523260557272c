"""The page's rows of iterations without pauses agree with the record, also for pauses parallel to
requests.
"""

import json

SCRIPT = """
config:
  target: URL
  phases: [ { duration: 2, arrivalRate: 10 } ]
  http: { pool: 4 }
scenarios:
  - name: Look
    flow:
      - get: { url: /api/sum }
      - parallel:
          - loop: [ { think: 0.05 }, { get: { url: /api/sum } } ]
            count: 1
          - get: { url: /api/sum }
"""


def test_iteration_has_a_row_without_pauses(loadline, start_lab, browser) -> None:
    lab = start_lab("sum")
    run = loadline("run", loadline.write("look.yml", SCRIPT.replace("URL", lab.url)))
    assert run.returncode == 0, run.stderr
    folder = (loadline.folder / ".loadline/runs/last").resolve()
    (look,) = json.loads((folder / "summary.json").read_text())["iterations"]
    assert look["unpaused"]["count"] == look["iteration"]["count"] == 20
    # A pause of the whole iteration is subtracted; the rest is no longer than the whole.
    assert 0 < look["unpaused"]["mean_ns"] < look["iteration"]["mean_ns"]
    report = (folder / "report.md").read_text()
    report_rows = [line.split("|") for line in report.splitlines() if line.startswith("| iteration Look")]
    # The median and the maximum, with and without pauses.
    whole, without = ([row[6].strip(), row[11].strip()] for row in report_rows)
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto((folder / "report.html").as_uri())
    rows = page.locator("table.endpoints tbody", has=page.get_by_text("Iterations ·")).get_by_role("row")
    names = [name.split("\n")[0] for name in rows.locator("th[scope=row]").all_inner_texts()]
    assert names[:2] == ["Look", "Look, without pauses"]
    shown = [row.locator("td").all_inner_texts() for row in rows.all() if "Look" in row.inner_text()]
    for cells, figures in zip(shown, (whole, without), strict=True):
        assert [figure for figure in figures if figure not in cells] == []
    page.close()
