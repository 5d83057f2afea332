import { quantile } from '../faults/quantile.ts'
import type { GrowthRecord } from './records.ts'

export interface MovesVerdict {
  readonly done: number
  readonly undone: number
  /** Groups that were sealed, and the times of the seals in milliseconds: the greatest p50, p99 and worst of any move. */
  readonly groups: number
  readonly sealP50: number
  readonly sealP99: number
  readonly sealWorst: number
  /** Entities, index rows and claims that were copied, and per second of copying, by movers that were not interrupted. */
  readonly copied: number
  readonly copiedPerSecond: number
}

export function judgeMoves(histories: Iterable<readonly GrowthRecord[]>): MovesVerdict {
  const moved = new Map<number, Extract<GrowthRecord, { readonly kind: 'moved' }>>()
  let [copied, copyingUs] = [0, 0]
  for (const records of histories) {
    let beganAt: number | undefined
    let before = 0
    for (const record of records) {
      if (record.kind === 'moved') moved.set(record.move, record)
      if (record.kind !== 'step') continue
      if (record.step === 'copying') [beganAt, before] = [record.at, record.copied]
      else if (record.step === 'checking' && beganAt !== undefined) {
        copied += record.copied - before
        copyingUs += record.at - beganAt
        beganAt = undefined
      }
    }
  }
  const all = [...moved.values()]
  const greatest = (of: (seals: (typeof all)[number]['seals']) => number): number =>
    Math.max(0, ...all.map(({ seals }) => of(seals)))
  return {
    done: all.filter(({ state }) => state === 'done').length,
    undone: all.filter(({ state }) => state === 'undone').length,
    groups: all.reduce((sum, { seals }) => sum + seals.groups, 0),
    sealP50: quantile(
      all.map(({ seals }) => seals.p50).toSorted((a, b) => a - b),
      0.5,
    ),
    sealP99: greatest(({ p99 }) => p99),
    sealWorst: greatest(({ worst }) => worst),
    copied,
    copiedPerSecond: copyingUs === 0 ? 0 : Math.round(copied / (copyingUs / 1_000_000)),
  }
}
