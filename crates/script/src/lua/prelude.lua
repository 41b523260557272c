-- The environment of scripts: the table `wrk`, as described in wrk's manual. Everything that Lua
-- cannot do itself is a function of `host`. Returns the functions that the program calls.

local host = ...
local type, next, pairs, tostring, len, concat = type, next, pairs, tostring, string.len, table.concat

-- An object without visible members. It is userdata, because scripts may check the type.
local function object(meta)
  local made = newproxy(true)
  local metatable = getmetatable(made)
  for name, value in pairs(meta) do metatable[name] = value end
  return made
end

local texts = setmetatable({}, { __mode = "k" })

local function address(text)
  local made = object { __tostring = function() return text end }
  texts[made] = text
  return made
end

local function text_of(value)
  return texts[value] or error("an address of wrk.lookup's is needed, this is " .. tostring(value), 3)
end

local function thread(number)
  local methods = {
    get = function(_, name) return host.get(number, tostring(name)) end,
    set = function(_, name, value) return host.set(number, tostring(name), value) end,
    stop = function() host.stop(number) end,
  }
  return object {
    __index = function(_, name)
      if name == "addr" then
        local known = host.address(number)
        return known and address(known)
      end
      -- For an unknown field, its name is returned, as in the original.
      return methods[name] or name
    end,
    __newindex = function(_, name, value)
      if name ~= "addr" then
        error("cannot set '" .. type(value) .. "' on thread", 2)
      end
      host.move(number, text_of(value))
    end,
  }
end

local wrk = {
  scheme = host.given.scheme,
  host = host.given.host,
  port = host.given.port,
  method = "GET",
  path = host.given.path,
  headers = host.given.headers,
}

function wrk.lookup(name, service)
  local found = host.lookup(tostring(name), tostring(service))
  for i = 1, #found do found[i] = address(found[i]) end
  return found
end

function wrk.connect(to)
  return host.connect(text_of(to))
end

-- Keeps the addresses that accept a connection.
function wrk.resolve(name, service)
  local reached = {}
  for _, found in ipairs(wrk.lookup(name, service)) do
    if wrk.connect(found) then reached[#reached + 1] = found end
  end
  wrk.addrs = reached
end

function wrk.time_us()
  return host.time_us()
end

function wrk.setup(of)
  of.addr = wrk.addrs[1]
  if type(setup) == "function" then setup(of) end
end

local function text(value)
  local kind = type(value)
  if kind == "string" or kind == "number" then return value end
  return tostring(value)
end

-- Formats any number of header lines.
local function many_lines(headers)
  local list = {}
  for name, value in pairs(headers) do list[#list + 1] = text(name) .. ": " .. text(value) .. "\r\n" end
  return concat(list)
end

-- Formats header lines in the order of the table. Up to four lines, as in most requests, are handled
-- without a loop, so that LuaJIT can compile the function and join all parts of a request at once.
local function lines(headers)
  local n1, v1 = next(headers)
  if n1 == nil then return "" end
  local n2, v2 = next(headers, n1)
  if n2 == nil then return n1 .. ": " .. text(v1) .. "\r\n" end
  local n3, v3 = next(headers, n2)
  if n3 == nil then return n1 .. ": " .. text(v1) .. "\r\n" .. n2 .. ": " .. text(v2) .. "\r\n" end
  local n4, v4 = next(headers, n3)
  if n4 == nil then
    return n1 .. ": " .. text(v1) .. "\r\n" .. n2 .. ": " .. text(v2) .. "\r\n" .. n3 .. ": " .. text(v3) .. "\r\n"
  end
  if next(headers, n4) == nil then
    return n1 .. ": " .. text(v1) .. "\r\n" .. n2 .. ": " .. text(v2) .. "\r\n"
      .. n3 .. ": " .. text(v3) .. "\r\n" .. n4 .. ": " .. text(v4) .. "\r\n"
  end
  return many_lines(headers)
end

-- Formats a request. The head contains Host, the given headers in the order of the table, and the
-- length of the body.
function wrk.format(method, path, headers, body)
  method = method or wrk.method
  path = path or wrk.path
  headers = headers or wrk.headers
  body = body or wrk.body
  if not headers.Host then headers.Host = wrk.headers.Host end
  headers["Content-Length"] = body and len(body)
  return method .. " " .. path .. " HTTP/1.1\r\n" .. lines(headers) .. "\r\n" .. (body or "")
end

function wrk.init(arguments)
  local headers = wrk.headers
  if not headers.Host then
    local name = wrk.host
    if name:find(":", 1, true) then name = "[" .. name .. "]" end
    headers.Host = wrk.port and name .. ":" .. wrk.port or name
  end
  if type(init) == "function" then init(arguments) end
  local request = wrk.format()
  function wrk.request() return request end
end

_G.wrk = wrk
package.loaded.wrk = wrk
package.path = package.path .. host.given.path_more
-- Searched last, so that modules of the script take precedence.
table.insert(package.loaders, function(name)
  return name == "json" and function() return assert(loadstring(host.given.json, "=json"))() end or nil
end)
package.cpath = package.cpath .. host.given.cpath_more

-- A distribution for done(). For an unknown field, its name is returned, as in the original.
local function distribution(which)
  local fields = host.distribution(which)
  local function percentile(_, p) return host.percentile(which, tonumber(p)) end
  return object {
    __index = function(_, name)
      if name == "percentile" then return percentile end
      if type(name) == "number" then return (host.nth(which, name)) end
      local known = fields[name]
      if known ~= nil and name ~= "length" then return known end
      return name
    end,
    __call = function(_, n) return host.nth(which, tonumber(n)) end,
    __len = function() return fields.length end,
  }
end

-- Kept in memory, so that no other function can get the same identity.
local looked_at

return {
  own_thread = function(number) wrk.thread = thread(number) end,
  setup = function(number) wrk.setup(thread(number)) end,
  resolve = function()
    -- Always the host of the URL, because `wrk.host` only affects the Host header.
    wrk.resolve(host.given.host, host.given.service)
    return #wrk.addrs
  end,
  init = function(arguments) wrk.init(arguments) end,
  request = function() return wrk.request() end,
  -- Whether a script defines request, response and delay.
  hooks = function() return type(request) == "function", type(response) == "function", type(delay) == "function" end,
  -- Number of parameters that `response` uses. -1 if it is unknown.
  parameters = function()
    looked_at = response
    local known = debug.getinfo(looked_at, "u")
    return known.isvararg and -1 or known.nparams or -1
  end,
  done = function(summary)
    if type(done) == "function" then done(summary, distribution(1), distribution(2)) end
  end,
}
