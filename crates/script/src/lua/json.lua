-- The module `json` for scripts that do not provide one: encode(value) and decode(text). A table
-- with the keys 1 to n is an array. JSON's null is decoded as nil, so it is absent from tables.

local json = {}

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function quoted(text)
  return '"' .. text:gsub('[%c"\\]', function(c) return escapes[c] or ("\\u%04x"):format(c:byte()) end) .. '"'
end

local encode

local function encode_table(value, within)
  if within[value] then error("json: a table holds itself", 0) end
  within[value] = true
  local parts, count = {}, 0
  for _ in pairs(value) do count = count + 1 end
  local is_array = count == #value and count > 0
  if is_array then
    for i = 1, count do parts[i] = encode(value[i], within) end
  else
    for key, item in pairs(value) do
      if type(key) ~= "string" then error("json: a key that is a " .. type(key) .. " in an object", 0) end
      parts[#parts + 1] = quoted(key) .. ":" .. encode(item, within)
    end
  end
  within[value] = nil
  local text = table.concat(parts, ",")
  return is_array and "[" .. text .. "]" or "{" .. text .. "}"
end

function encode(value, within)
  local kind = type(value)
  if kind == "string" then return quoted(value) end
  if kind == "nil" or kind == "boolean" then return kind == "nil" and "null" or tostring(value) end
  if kind == "table" then return encode_table(value, within) end
  if kind == "number" and value == value and math.abs(value) ~= math.huge then return ("%.14g"):format(value) end
  error("json: cannot encode " .. (kind == "number" and tostring(value) or "a " .. kind), 0)
end

function json.encode(value) return encode(value, {}) end

local plain = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function utf8(code)
  local char = string.char
  if code < 0x80 then return char(code) end
  if code < 0x800 then return char(0xC0 + math.floor(code / 64), 0x80 + code % 64) end
  if code < 0x10000 then return char(0xE0 + math.floor(code / 4096), 0x80 + math.floor(code / 64) % 64, 0x80 + code % 64) end
  return char(0xF0 + math.floor(code / 262144), 0x80 + math.floor(code / 4096) % 64, 0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
end

local function wrong(what, at) error(("json: %s at byte %d"):format(what, at), 0) end

local function blank(text, at) return text:find("[^ \t\r\n]", at) or #text + 1 end

local function decode_string(text, at)
  local parts, from = {}, at + 1
  while true do
    local stop = text:find('["\\%c]', from) or wrong("a string without an end", at)
    parts[#parts + 1] = text:sub(from, stop - 1)
    local c = text:sub(stop, stop)
    if c == '"' then return table.concat(parts), stop + 1 end
    if c ~= "\\" then wrong("a control character in a string", stop) end
    local escape = text:sub(stop + 1, stop + 1)
    from = stop + 2
    if escape == "u" then
      local code = tonumber(text:match("^%x%x%x%x", from) or wrong("a bad escape", stop), 16)
      from = from + 4
      local low = code >= 0xD800 and code < 0xDC00 and text:match("^\\u([dD][c-fC-F]%x%x)", from)
      if low then
        code, from = 0x10000 + (code - 0xD800) * 1024 + tonumber(low, 16) - 0xDC00, from + 6
      end
      parts[#parts + 1] = utf8(code)
    else
      parts[#parts + 1] = plain[escape] or wrong("a bad escape", stop)
    end
  end
end

local decode

local function decode_table(text, at, close)
  local made, n = {}, 0
  local next_at = blank(text, at + 1)
  if text:sub(next_at, next_at) == close then return made, next_at + 1 end
  while true do
    local key
    n = n + 1
    if close == "}" then
      if text:sub(next_at, next_at) ~= '"' then wrong("a name is missing", next_at) end
      key, next_at = decode_string(text, next_at)
      next_at = blank(text, next_at)
      if text:sub(next_at, next_at) ~= ":" then wrong("a colon is missing", next_at) end
      next_at = blank(text, next_at + 1)
    end
    made[key or n], next_at = decode(text, next_at)
    next_at = blank(text, next_at)
    local c = text:sub(next_at, next_at)
    if c == close then return made, next_at + 1 end
    if c ~= "," then wrong("a comma is missing", next_at) end
    next_at = blank(text, next_at + 1)
  end
end

local words = { { "true", true }, { "false", false }, { "null", nil } }

function decode(text, at)
  local c = text:sub(at, at)
  if c == '"' then return decode_string(text, at) end
  if c == "{" then return decode_table(text, at, "}") end
  if c == "[" then return decode_table(text, at, "]") end
  for _, word in ipairs(words) do
    if text:sub(at, at + #word[1] - 1) == word[1] then return word[2], at + #word[1] end
  end
  local digits = text:match("^-?%d+%.?%d*[eE]?[+-]?%d*", at)
  local number = digits and tonumber(digits)
  if not number then wrong("no value", at) end
  return number, at + #digits
end

function json.decode(text)
  if type(text) ~= "string" then error("json: a string is needed, this is a " .. type(text), 2) end
  local value, at = decode(text, blank(text, 1))
  at = blank(text, at)
  if at <= #text then wrong("more than one value", at) end
  return value
end

return json
