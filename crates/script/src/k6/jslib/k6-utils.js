// The library k6-utils: random values, texts, and stages of scenarios.

import { check as checkNow } from 'k6';
import exec from 'k6/execution';

export function uuidv4() {
  return crypto.randomUUID();
}

export function randomIntBetween(min, max) {
  return Math.floor(Math.random() * (max - min + 1) + min);
}

export function randomItem(array) {
  return array[Math.floor(Math.random() * array.length)];
}

export function randomString(length, charset = 'abcdefghijklmnopqrstuvwxyz') {
  let text = '';
  for (let i = 0; i < length; i++) text += charset[Math.floor(Math.random() * charset.length)];
  return text;
}

// Returns the text between two others. With `repeat`, returns all such texts as an array.
export function findBetween(content, left, right, repeat = false) {
  const found = [];
  let from = 0;
  for (;;) {
    const start = content.indexOf(left, from);
    if (start === -1) break;
    const end = content.indexOf(right, start + left.length);
    if (end === -1) break;
    found.push(content.substring(start + left.length, end));
    if (!repeat) break;
    from = end + right.length;
  }
  return repeat ? found : (found[0] ?? null);
}

// Returns stages whose targets follow a bell curve. A sixth of the time is before it, and a sixth
// after it.
export function normalDistributionStages(maxVus, durationSeconds, numberOfStages = 10) {
  const density = (x) => Math.exp((x * x) / -2);
  const stages = [
    { duration: `${Math.ceil(durationSeconds / 6)}s`, target: Math.round(maxVus * density(-2)) },
  ];
  for (let i = 1; i <= numberOfStages; i++) {
    stages.push({
      duration: `${Math.ceil((4 * durationSeconds) / (6 * numberOfStages))}s`,
      target: Math.round(maxVus * density(-2 + (4 * i) / numberOfStages)),
    });
  }
  stages.push({ duration: `${Math.ceil(durationSeconds / 6)}s`, target: 0 });
  return stages;
}

const UNITS = { d: 86400000, h: 3600000, m: 60000, s: 1000, ms: 1 };

// Returns a duration such as `1m30s` in milliseconds.
export function parseDuration(text) {
  if (text === undefined || text === null || text === '') throw new Error('str is empty');
  const whole = String(text);
  if (/^\d+(\.\d+)?$/.test(whole)) return Number(whole);
  let total = 0;
  const rest = whole.replace(/(\d+(?:\.\d+)?)(ms|[dhms])/g, (_, amount, unit) => {
    total += Number(amount) * UNITS[unit];
    return '';
  });
  if (rest !== '') throw new Error(`${whole} is not a valid duration`);
  return total;
}

function currentScenario() {
  const name = exec.scenario.name;
  const scenario = exec.test.options.scenarios?.[name];
  if (!scenario) throw new Error(`the options have no scenario named '${name}'`);
  if (!Array.isArray(scenario.stages)) throw new Error(`the scenario '${name}' has no stages`);
  return scenario;
}

export function getCurrentStageIndex() {
  const { stages } = currentScenario();
  const elapsed = Date.now() - exec.scenario.startTime;
  let end = 0;
  const index = stages.findIndex((stage) => {
    end += parseDuration(stage.duration);
    return elapsed < end;
  });
  return index === -1 ? stages.length - 1 : index;
}

export function tagWithCurrentStageIndex() {
  exec.vu.metrics.tags.stage = getCurrentStageIndex();
}

export function tagWithCurrentStageProfile() {
  const scenario = currentScenario();
  const index = getCurrentStageIndex();
  const start = Number(scenario.startVUs ?? scenario.startRate ?? 0);
  const before = index === 0 ? start : Number(scenario.stages[index - 1].target);
  const target = Number(scenario.stages[index].target);
  const profile = target > before ? 'ramp-up' : target < before ? 'ramp-down' : 'steady';
  exec.vu.metrics.tags.stage_profile = profile;
}

// Checks like the function of `k6`, and also waits for promises and asynchronous functions. Returns
// a promise if there are any.
export function check(value, sets, tags = {}) {
  const isPromise = (v) => typeof v?.then === 'function';
  const settled = (resolved) => {
    const results = {};
    for (const [name, condition] of Object.entries(sets)) {
      results[name] = typeof condition === 'function' ? condition(resolved) : condition;
    }
    const names = Object.keys(results);
    if (!names.some((name) => isPromise(results[name]))) return checkNow(resolved, results, tags);
    return Promise.all(names.map((name) => results[name])).then((all) => {
      const known = Object.fromEntries(names.map((name, i) => [name, all[i]]));
      return checkNow(resolved, known, tags);
    });
  };
  return isPromise(value) ? value.then(settled) : settled(value);
}
