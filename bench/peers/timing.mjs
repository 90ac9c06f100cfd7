// Times several calls in turns and prints the median of each as {"sample": NAME, "ns": TIME}, one per line.

const TURN_NS = 1e6;
const TURNS = 61;
const WARM_UP_NS = 2e8;

async function time(call, times) {
  const start = process.hrtime.bigint();
  for (let turn = 0; turn < times; turn++) await call(turn);
  return Number(process.hrtime.bigint() - start);
}

async function calibrate(call) {
  // The optimising compiler gets its say first.
  for (let spent = 0; spent < WARM_UP_NS; ) spent += await time(call, 1000);
  let fastest = Infinity;
  for (let i = 0; i < 5; i++) fastest = Math.min(fastest, await time(call, 200));
  return Math.max(1, Math.round((TURN_NS * 200) / fastest));
}

export async function sideBySide(calls) {
  const shapes = [];
  for (const [name, call] of Object.entries(calls)) {
    shapes.push({ name, call, times: await calibrate(call), taken: [] });
  }
  for (let i = 0; i < TURNS; i++) {
    for (const shape of shapes) shape.taken.push((await time(shape.call, shape.times)) / shape.times);
  }
  for (const { name, taken } of shapes) {
    taken.sort((a, b) => a - b);
    console.log(JSON.stringify({ sample: name, ns: taken[TURNS >> 1] }));
  }
}
