/**
 * Times and sizes of cleaning that a program has no reason to choose: other values cost statements or repeat work, and repair nothing
 * sooner. Tests choose others, with the `tuned…` functions of the internal entry. All times are in milliseconds.
 */
export interface Tuning {
  /**
   * Time between two looks of a check at a row that seems wrong. For rows that seem to dangle, the time for which the store keeps lost rows
   * is added. An attempt in flight has mostly ended after this time; one that takes longer costs another look.
   */
  readonly settleMs: number
  /** Time between two saves of the progress, which is the work that the death of a worker repeats, and between two looks for a pause. */
  readonly checkpointMs: number
  /** Time between two looks at the work of other processes. A look is one small read per shard. */
  readonly pollMs: number
  /** Largest number of rows per page. More rows save little: at 500, a statement costs less than its rows. */
  readonly pageSize: number
  /** Largest number of shards worked on at the same time. More would take connections of the pools from calls. */
  readonly shardsAtOnce: number
  /** Longest time between two rounds on an idle shard: one small read each. */
  readonly idleIntervalMs: number
  /** Age of the oldest writes that the first round of a store reads. The first sweep reads older ones. */
  readonly lookBackMs: number
  /** Age beyond which unread writes are left to the sweep, which reads every entity once a day anyway. */
  readonly maxLagMs: number
  /** Time between two reads of the catalog, which find new indexes and due sweeps. */
  readonly catalogMs: number
}

const HOUR = 3_600_000

export const TUNING: Tuning = {
  settleMs: 500,
  checkpointMs: 1_000,
  pollMs: 500,
  pageSize: 500,
  shardsAtOnce: 4,
  idleIntervalMs: 5_000,
  lookBackMs: HOUR,
  maxLagMs: 24 * HOUR,
  catalogMs: 3_000,
}

/** Options of a call, and the tuning that differs from `TUNING`. */
export type Tuned<Options> = Options & Partial<Tuning>

/**
 * Returns the whole tuning of a call. A name whose value is undefined counts as left out: the check of options lets it pass, and a time
 * that is undefined would be a round without a pause.
 */
export function tuningOf(given: Partial<Tuning>): Tuning {
  const set = Object.entries(given).filter(
    ([name, value]) => Object.hasOwn(TUNING, name) && value !== undefined,
  )
  return { ...TUNING, ...(Object.fromEntries(set) as Partial<Tuning>) }
}
