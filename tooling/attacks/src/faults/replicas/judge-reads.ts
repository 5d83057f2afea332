import type { ReplicasRecord } from './replicas-records.ts'

/** Judgement of the reads of several processes. */
export interface ReadsJudged {
  /** Calls whose every entity was compared with the acknowledged writes. */
  readonly reads: number
  /** Entities in them. */
  readonly looks: number
  /** For each look at a replaced state: milliseconds since its replacement was acknowledged. */
  readonly ages: readonly number[]
  /** Reads that had to see the writes of a token. */
  readonly own: number
  readonly others: number
  readonly toPrimaries: number
  readonly toReplicas: number
  readonly writes: number
  readonly errors: Readonly<Record<string, number>>
  readonly wrongs: readonly string[]
}

/** Compares reads with the writes that were acknowledged before them. */
export function judgeReads(records: readonly ReplicasRecord[]): ReadsJudged {
  const acknowledged = new Map<string, { readonly n: number; readonly at: number }[]>()
  const errors: Record<string, number> = {}
  const wrongs: string[] = []
  const ages: number[] = []
  const sums = { reads: 0, looks: 0, own: 0, others: 0, toPrimaries: 0, toReplicas: 0, writes: 0 }
  for (const record of records) {
    if (record.kind !== 'wrote') continue
    const own = acknowledged.get(record.id)
    if (own === undefined) acknowledged.set(record.id, [record])
    else own.push(record)
    sums.writes++
  }
  for (const own of acknowledged.values()) own.sort((a, b) => a.n - b.n)
  for (const record of records) {
    if (record.kind === 'wrong') wrongs.push(record.message)
    else if (record.kind === 'error') errors[record.code] = (errors[record.code] ?? 0) + 1
    else if (record.kind === 'done') {
      sums.own += record.own
      sums.others += record.others
      sums.toPrimaries += record.toPrimaries
      sums.toReplicas += record.toReplicas
    } else if (record.kind === 'read') {
      sums.reads++
      for (const [id, n] of record.found) {
        sums.looks++
        // The first state that the read should have seen instead.
        const next = firstAbove(acknowledged.get(id) ?? [], n)
        if (next === undefined || next.at >= record.began) continue
        const age = (record.began - next.at) / 1_000
        ages.push(age)
        if (age > record.bound)
          wrongs.push(
            `${id}: ${n} was read ${Math.round(age)} ms after ${next.n}; the bound was ${record.bound}`,
          )
      }
    }
  }
  return { ...sums, ages: ages.toSorted((a, b) => a - b), errors, wrongs }
}

/** Expects the writes in order. */
function firstAbove<Write extends { readonly n: number }>(
  writes: readonly Write[],
  n: number,
): Write | undefined {
  let low = 0
  let high = writes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (writes[middle]!.n > n) high = middle
    else low = middle + 1
  }
  return writes[low]
}
