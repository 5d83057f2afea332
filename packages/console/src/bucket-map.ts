import { markup, type Html } from './html.ts'
import { counted, cut } from './text.ts'
import { table } from './xray-page.ts'

const WIDTH = 1000
const ROW = 20
const LEFT = 8
const MAX_SHARDS = 64
/** Of neighbouring buckets: more would be too fine to be seen, and would make the page large. */
const MAX_RUNS = 1000
const MAX_RANGES = 64

interface Run {
  readonly shard: number
  readonly from: number
  readonly to: number
}

/** Which buckets each shard has: a picture with a line for each shard, and the same as a table of ranges. */
export function bucketMap(shards: readonly number[], names: readonly string[]): Html {
  const runs = runsOf(shards)
  const drawn = new Set(runs.slice(0, MAX_RUNS))
  const across = (bucket: number): number => LEFT + (bucket / shards.length) * (WIDTH - 2 * LEFT)
  const lines = cut(names, MAX_SHARDS, 'shard').shown.map((name, shard) => {
    const y = shard * 2 * ROW
    const own = runs.filter((run) => run.shard === shard && drawn.has(run))
    const path = own.map(({ from, to }) => {
      const [left, right] = [across(from), across(to + 1)]
      return `M${left.toFixed(1)} ${y + ROW}h${(right - left).toFixed(1)}v12H${left.toFixed(1)}z`
    })
    return markup`<text x="${LEFT}" y="${y + 14}">${name}</text><path class="back" d="M${LEFT} ${y + ROW}H${WIDTH - LEFT}v12H${LEFT}z"/><path d="${path.join('')}"/>`
  })
  const { shown, note } = cut(runs, MAX_RANGES, 'range')
  const label = `${counted(shards.length, 'bucket')} on ${counted(names.length, 'shard')}; the table below has the ranges`
  return markup`<div class="scroll" tabindex="0" role="region" aria-label="Picture of the buckets"><svg class="buckets" viewBox="0 0 ${WIDTH} ${lines.length * 2 * ROW}" role="img" aria-label="${label}">${lines}</svg></div>
${runs.length > MAX_RUNS || names.length > MAX_SHARDS ? markup`<p class="soft">Not all of it is drawn.</p>` : undefined}
<details><summary>Buckets as ranges</summary>${table(
    ['buckets', 'how many', 'shard'],
    shown.map(({ from, to, shard }) => [
      `${from.toLocaleString('en-US')} to ${to.toLocaleString('en-US')}`,
      (to - from + 1).toLocaleString('en-US'),
      names[shard] ?? `${shard}`,
    ]),
    'Buckets as ranges',
  )}${note === '' ? undefined : markup`<p class="soft">${note}</p>`}</details>`
}

function runsOf(shards: readonly number[]): readonly Run[] {
  const runs: Run[] = []
  let from = 0
  for (let bucket = 1; bucket <= shards.length; bucket++) {
    if (shards[bucket] === shards[from] && bucket < shards.length) continue
    runs.push({ shard: shards[from] as number, from, to: bucket - 1 })
    from = bucket
  }
  return runs
}
