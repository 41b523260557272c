// Finds code in a sentence: text between two backticks, by the rules of report.md.

export interface Span {
  text: string;
  code: boolean;
}

export function spans(text: string): Span[] {
  const found: Span[] = [];
  let rest = text;
  for (let next = first(rest); next !== null; next = first(rest)) {
    if (next.before !== "") found.push({ text: next.before, code: false });
    found.push({ text: next.code, code: true });
    rest = next.after;
  }
  if (rest !== "") found.push({ text: rest, code: false });
  return found;
}

function first(text: string): { before: string; code: string; after: string } | null {
  const open = text.indexOf("`");
  const close = open < 0 ? -1 : text.indexOf("`", open + 1);
  if (close < 0) return null;
  const [before, code, after] = [text.slice(0, open), text.slice(open + 1, close), text.slice(close + 1)];
  const isOther = code === "" || /^[\s\\]|[\s\\]$|[|\n]/.test(code) || after.startsWith("`") || before.endsWith("\\");
  return isOther ? null : { before, code, after };
}
