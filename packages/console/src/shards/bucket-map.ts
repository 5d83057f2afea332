import type { Shard } from '@looseleaf/core'
import { markup, type Html } from '../kit/html.ts'
import { counted, cut } from '../kit/text.ts'
import { noteOf, table } from '../kit/table.ts'

const MAX_SHARDS = 64
/** Largest number of drawn ranges on the page. More would be too fine to see. */
const MAX_RUNS = 1000
const MAX_RANGES = 64

interface Run {
  readonly shard: number
  readonly from: number
  readonly to: number
}

/** Renders the buckets of each shard as a line, and all of them as a table of ranges. */
export function bucketMap(
  shards: readonly number[],
  present: readonly (readonly [number: number, shard: Pick<Shard, 'name'>])[],
): Html {
  const runs = runsOf(shards)
  const drawn = Map.groupBy(runs.slice(0, MAX_RUNS), ({ shard }) => shard)
  const names = new Map(present.map(([number, { name }]) => [number, name]))
  const lines = present
    .slice(0, MAX_SHARDS)
    .map(([shard, { name }]) => line(name, drawn.get(shard) ?? [], shards.length))
  const { shown, note } = cut(runs, MAX_RANGES, 'range')
  const ranges = table(
    ['buckets', 'how many', 'shard'],
    shown.map((run) => [
      rangeText(run),
      lengthOf(run).toLocaleString('en-US'),
      names.get(run.shard) ?? `${run.shard}`,
    ]),
    'Buckets as ranges',
  )
  return markup`<div class="buckets">${lines}</div>
${runs.length > MAX_RUNS || present.length > MAX_SHARDS ? markup`<p class="soft">Only the first part is drawn.</p>` : undefined}
<details><summary>Buckets as ranges</summary>${ranges}${noteOf(note)}</details>`
}

/** Draws the buckets of a shard. The unit of length is one bucket. */
function line(name: string, runs: readonly Run[], buckets: number): Html {
  const path = runs.map((run) => `M${run.from} 0h${lengthOf(run)}v1h-${lengthOf(run)}z`).join('')
  const has =
    runs.length === 0 ? 'none' : runs.length === 1 ? rangeText(runs[0]!) : counted(runs.length, 'range')
  return markup`<p>${name}</p><svg viewBox="0 0 ${buckets} 1" preserveAspectRatio="none" role="img" aria-label="Buckets of ${name}: ${has}"><path d="${path}"/></svg>`
}

function lengthOf({ from, to }: Run): number {
  return to - from + 1
}

function rangeText({ from, to }: Run): string {
  return `${from.toLocaleString('en-US')} to ${to.toLocaleString('en-US')}`
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
