// The library papaparse: reads and writes CSV.

const DELIMITERS = [',', '\t', '|', ';'];

function guessDelimiter(text) {
  const line = text.split(/\r?\n/).find((l) => l !== '') ?? '';
  const count = (delimiter) => line.split(delimiter).length;
  return DELIMITERS.reduce((best, delimiter) =>
    count(delimiter) > count(best) ? delimiter : best,
  );
}

function readRows(text, delimiter, comments, errors) {
  const rows = [];
  let row = [];
  let field = '';
  let at = 0;
  const endField = () => {
    row.push(field);
    field = '';
  };
  const endRow = () => {
    endField();
    rows.push(row);
    row = [];
  };
  while (at < text.length) {
    if (comments && row.length === 0 && field === '' && text.startsWith(comments, at)) {
      const end = text.indexOf('\n', at);
      at = end === -1 ? text.length : end + 1;
      continue;
    }
    const letter = text[at];
    if (letter === '"' && field === '') {
      let end = at + 1;
      let quoted = '';
      for (;;) {
        const quote = text.indexOf('"', end);
        if (quote === -1) {
          errors.push({
            type: 'Quotes',
            code: 'MissingQuotes',
            message: 'Quoted field unterminated',
            row: rows.length,
            index: at,
          });
          quoted += text.slice(end);
          end = text.length;
          break;
        }
        quoted += text.slice(end, quote);
        end = quote + 1;
        if (text[end] !== '"') break;
        quoted += '"';
        end++;
      }
      field = quoted;
      at = end;
      if (
        at >= text.length ||
        text.startsWith(delimiter, at) ||
        text[at] === '\n' ||
        text[at] === '\r'
      ) {
        if (field === '' && at < text.length && text.startsWith(delimiter, at)) {
          endField();
          at += delimiter.length;
        }
        continue;
      }
    } else if (text.startsWith(delimiter, at)) {
      endField();
      at += delimiter.length;
      if (at >= text.length) endRow();
    } else if (letter === '\n' || letter === '\r') {
      endRow();
      at += text.startsWith('\r\n', at) ? 2 : 1;
    } else {
      field += letter;
      at++;
    }
  }
  if (field !== '' || row.length > 0) endRow();
  return rows;
}

const FLOAT = /^\s*-?(\d+\.?|\.\d+|\d+\.\d+)([eE][-+]?\d+)?\s*$/;
const DATE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:?\d{2})$/;

function typed(value) {
  if (value === 'true' || value === 'TRUE') return true;
  if (value === 'false' || value === 'FALSE') return false;
  if (FLOAT.test(value) && Math.abs(Number(value)) < 2 ** 53) return Number(value);
  if (DATE.test(value)) return new Date(value);
  return value === '' ? null : value;
}

function isSkipped(row, skip) {
  if (skip === 'greedy') return row.every((value) => value.trim() === '');
  return Boolean(skip) && row.length === 1 && row[0] === '';
}

export function parse(input, config = {}) {
  const text = String(input).replace(/^\ufeff/, '');
  const errors = [];
  const delimiter = config.delimiter || guessDelimiter(text);
  const comments = config.comments === true ? '#' : config.comments;
  let rows = readRows(text, delimiter, comments, errors).filter(
    (row) => !isSkipped(row, config.skipEmptyLines),
  );
  if (config.preview > 0) rows = rows.slice(0, config.preview + (config.header ? 1 : 0));
  const isTyped = (name) => {
    const dynamic = config.dynamicTyping;
    return typeof dynamic === 'function'
      ? dynamic(name)
      : dynamic === true || Boolean(dynamic?.[name]);
  };
  const convert = (value, name) => {
    const own = config.transform ? config.transform(value, name) : value;
    return isTyped(name) ? typed(own) : own;
  };
  const meta = {
    delimiter,
    linebreak: text.includes('\r\n') ? '\r\n' : '\n',
    aborted: false,
    truncated: false,
    cursor: text.length,
  };
  if (!config.header) {
    return { data: rows.map((row) => row.map((value, i) => convert(value, i))), errors, meta };
  }
  let fields = rows.shift() ?? [];
  if (config.transformHeader) fields = fields.map((name, i) => config.transformHeader(name, i));
  meta.fields = fields;
  const data = rows.map((row, number) => {
    if (row.length !== fields.length) {
      const code = row.length < fields.length ? 'TooFewFields' : 'TooManyFields';
      const message = `${row.length < fields.length ? 'Too few' : 'Too many'} fields: expected ${fields.length} fields but parsed ${row.length}`;
      errors.push({ type: 'FieldMismatch', code, message, row: number });
    }
    const entry = {};
    row.forEach((value, i) => {
      if (i < fields.length) entry[fields[i]] = convert(value, fields[i]);
      else (entry.__parsed_extra ??= []).push(value);
    });
    return entry;
  });
  return { data, errors, meta };
}

export function unparse(input, config = {}) {
  const delimiter = config.delimiter ?? ',';
  const newline = config.newline ?? '\r\n';
  const quoted = (value) => {
    const text = value === null || value === undefined ? '' : String(value);
    const needs =
      config.quotes === true || text.includes(delimiter) || /["\r\n]|^\s|\s$/.test(text);
    return needs ? `"${text.replace(/"/g, '""')}"` : text;
  };
  const given = typeof input === 'string' ? JSON.parse(input) : input;
  const source = Array.isArray(given) ? given : given.data;
  let fields = Array.isArray(given) ? config.columns : given.fields;
  const isObjects = source.length > 0 && !Array.isArray(source[0]);
  if (isObjects) fields ??= Object.keys(source[0]);
  const rows = source.map((row) => (Array.isArray(row) ? row : fields.map((name) => row[name])));
  if (fields && config.header !== false) rows.unshift(fields);
  return rows.map((row) => row.map(quoted).join(delimiter)).join(newline);
}

export default { parse, unparse };
