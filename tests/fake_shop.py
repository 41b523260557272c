"""A small web shop with an API and pages, for scripts that use a service as people's own tests do."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from urllib.parse import parse_qs, urlsplit

from fake_servers import RecordingServer, Request

Reply = tuple[int, dict[str, str], bytes]
SECRET = b"shop-secret"
PRODUCTS = [{"id": n, "name": f"product {n}", "price": n * 10, "tags": ["new"] if n % 2 else []} for n in range(1, 24)]
PER_PAGE = 10


def as_json(value: object, status: int = 200, **headers: str) -> Reply:
    return status, {"content-type": "application/json", **headers}, json.dumps(value).encode()


def as_html(text: str, status: int = 200, **headers: str) -> Reply:
    page = f"<!DOCTYPE html><html><head><title>Shop</title></head><body>{text}</body></html>"
    return status, {"content-type": "text/html; charset=utf-8", **headers}, page.encode()


def redirect(to: str, **headers: str) -> Reply:
    return 302, {"location": to, **headers}, b""


class Shop(RecordingServer):
    """The shop. Its state is public, so that tests can compare it with what scripts saw."""

    def __init__(self) -> None:
        super().__init__(self.reply)
        self.users: dict[str, str] = {"demo": "demo"}
        self.items: dict[int, dict] = {}
        self.orders: list[dict] = []
        self.uploads: list[dict] = []
        self.attempts: dict[str, int] = {}
        self.numbers = 0

    def next_number(self) -> int:
        with self.lock:
            self.numbers += 1
            return self.numbers

    def reply(self, request: Request) -> Reply:
        path = urlsplit(request.path).path
        for method, pattern, serve in ROUTES:
            match = re.fullmatch(pattern, path)
            if match and method in (request.method, "*"):
                return serve(self, request, *match.groups())
        return as_json({"error": "not found"}, 404)

    def user(self, request: Request) -> str | None:
        token = request.headers.get("authorization", "").removeprefix("Bearer token-")
        return token if token in self.users else None


def query(request: Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}


def form(request: Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(request.body.decode(), keep_blank_values=True).items()}


def home(shop: Shop, request: Request) -> Reply:
    return as_html('<h1>Shop</h1><p class="lead">Welcome</p><a href="/login">Log in</a><a href="/catalogue?page=1">Catalogue</a>')


def register(shop: Shop, request: Request) -> Reply:
    user = json.loads(request.body)
    if user["username"] in shop.users:
        return as_json({"username": ["already exists"]}, 400)
    shop.users[user["username"]] = user["password"]
    return as_json({"username": user["username"]}, 201)


def log_in(shop: Shop, request: Request) -> Reply:
    user = json.loads(request.body)
    if shop.users.get(user.get("username", "")) != user.get("password", ""):
        return as_json({"detail": "wrong credentials"}, 401)
    return as_json({"access": f"token-{user['username']}", "expires_in": 300})


def products(shop: Shop, request: Request) -> Reply:
    page = int(query(request).get("page", "1"))
    some = PRODUCTS[(page - 1) * PER_PAGE : page * PER_PAGE]
    following = f"/api/products?page={page + 1}" if page * PER_PAGE < len(PRODUCTS) else None
    return as_json({"count": len(PRODUCTS), "results": some, "next": following})


def product(shop: Shop, request: Request, number: str) -> Reply:
    found = [one for one in PRODUCTS if one["id"] == int(number)]
    return as_json(found[0]) if found else as_json({"error": "no such product"}, 404)


def my_items(shop: Shop, request: Request) -> Reply:
    owner = shop.user(request)
    if owner is None:
        return as_json({"detail": "token required"}, 401)
    if request.method == "POST":
        is_json = request.headers.get("content-type", "").startswith("application/json")
        item = {**(json.loads(request.body) if is_json else form(request)), "id": shop.next_number(), "owner": owner}
        shop.items[item["id"]] = item
        return as_json(item, 201, location=f"/my/items/{item['id']}")
    return as_json([item for item in list(shop.items.values()) if item["owner"] == owner])


def my_item(shop: Shop, request: Request, number: str) -> Reply:
    item = shop.items.get(int(number))
    if item is None or item["owner"] != shop.user(request):
        return as_json({"error": "no such item"}, 404)
    if request.method == "DELETE":
        del shop.items[item["id"]]
        return 204, {}, b""
    if request.method in ("PUT", "PATCH"):
        item.update(json.loads(request.body))
    return as_json(item)


def login_page(shop: Shop, request: Request) -> Reply:
    if request.method == "GET":
        return as_html(
            '<form id="login" method="post" action="/login"><input type="hidden" name="csrf" value="c-42">'
            '<input name="user"><input name="password" type="password"><button type="submit" name="go" value="1">Go</button></form>',
            **{"set-cookie": "visit=1; Path=/"},
        )
    fields = form(request)
    if fields.get("csrf") != "c-42" or "visit=1" not in request.headers.get("cookie", ""):
        return as_html("<p>forbidden</p>", 403)
    return redirect("/account", **{"set-cookie": f"session={fields['user']}; Path=/; HttpOnly"})


def account(shop: Shop, request: Request) -> Reply:
    session = re.search(r"session=(\w+)", request.headers.get("cookie", ""))
    if session is None:
        return redirect("/login")
    return as_html(f'<h1>Account</h1><p id="user">{session[1]}</p>')


def catalogue(shop: Shop, request: Request) -> Reply:
    rows = "".join(f'<li class="product" data-id="{p["id"]}"><a href="/p/{p["id"]}">{p["name"]}</a></li>' for p in PRODUCTS[:5])
    return as_html(f'<ul id="products">{rows}</ul><table><tr><th>Size</th></tr><tr><td>S</td><td>M</td></tr></table>')


def search(shop: Shop, request: Request) -> Reply:
    word = query(request).get("q", "")
    return as_json([product["id"] for product in PRODUCTS if word in product["name"]])


def upload(shop: Shop, request: Request) -> Reply:
    boundary = re.search(r'boundary="?([^";]+)', request.headers["content-type"])[1]
    found: dict = {"fields": {}, "files": {}}
    for part in request.body.split(f"--{boundary}".encode())[1:-1]:
        head, _, body = part.removeprefix(b"\r\n").removesuffix(b"\r\n").partition(b"\r\n\r\n")
        name = re.search(rb'[; ]name="([^"]*)"', head)[1].decode()
        file = re.search(rb'filename="([^"]*)"', head)
        if file:
            kind = re.search(rb"(?i)content-type: ([^\r\n]+)", head)[1].decode()
            found["files"][name] = {"name": file[1].decode(), "type": kind, "size": len(body)}
        else:
            found["fields"][name] = body.decode()
    shop.uploads.append(found)
    return as_json(found, 201)


def graphql(shop: Shop, request: Request) -> Reply:
    posted = json.loads(request.body)
    if "mutation" in posted["query"]:
        return as_json({"data": {"addProduct": {"id": 99, **posted["variables"]["input"]}}})
    if "broken" in posted["query"]:
        return as_json({"errors": [{"message": "unknown field"}]})
    return as_json({"data": {"products": PRODUCTS[: posted["variables"]["first"]]}})


def signed(shop: Shop, request: Request) -> Reply:
    text = f"{request.method}\n{request.path}\n{request.headers.get('x-date', '')}\n".encode() + request.body
    expected = hmac.new(SECRET, text, hashlib.sha256).hexdigest()
    is_right = hmac.compare_digest(expected, request.headers.get("x-signature", ""))
    return as_json({"signed": is_right}, 200 if is_right else 403)


def flaky(shop: Shop, request: Request, key: str) -> Reply:
    with shop.lock:
        shop.attempts[key] = shop.attempts.get(key, 0) + 1
        is_late = shop.attempts[key] < 3
    return as_json({"error": "busy"}, 503, **{"retry-after": "0"}) if is_late else as_json({"attempts": shop.attempts[key]})


def order(shop: Shop, request: Request) -> Reply:
    body = json.loads(request.body)
    shop.orders.append(body)
    return as_json({"id": shop.next_number(), **body}, 201)


def soap(shop: Shop, request: Request) -> Reply:
    number = re.search(r"<number>(\d+)</number>", request.body.decode())[1]
    text = f"<Envelope><Body><Answer><square>{int(number) ** 2}</square></Answer></Body></Envelope>"
    return 200, {"content-type": "text/xml"}, text.encode()


def health(shop: Shop, request: Request) -> Reply:
    return as_json({"status": "ok"})


def asset(shop: Shop, request: Request, name: str) -> Reply:
    return 200, {"content-type": "text/css", "cache-control": "max-age=60"}, f"/* {name} */".encode()


ROUTES = [
    ("GET", "/", home),
    ("*", "/health", health),
    ("POST", "/auth/register", register),
    ("POST", "/auth/login", log_in),
    ("GET", "/api/products", products),
    ("GET", r"/api/products/(\d+)", product),
    ("GET", "/api/search", search),
    ("*", "/my/items", my_items),
    ("*", r"/my/items/(\d+)", my_item),
    ("*", "/login", login_page),
    ("GET", "/account", account),
    ("GET", "/catalogue", catalogue),
    ("POST", "/upload", upload),
    ("POST", "/graphql", graphql),
    ("*", "/signed", signed),
    ("GET", r"/flaky/([\w-]+)", flaky),
    ("POST", "/orders", order),
    ("POST", "/soap", soap),
    ("GET", r"/assets/([\w.]+)", asset),
]
