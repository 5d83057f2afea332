/** Times and sizes of a move that a program has no reason to choose. Tests choose others. All times are in milliseconds. */
export interface Tuning {
  /** Time between two saves of the progress, which is the work that the death of a mover repeats. */
  readonly checkpointMs: number
  /** Time between two looks at a move that another process has, or at consumers that are behind. */
  readonly pollMs: number
  /** Longest wait for consumers at the end of a call. A later call deletes the rows that the source still has. */
  readonly consumersMs: number
  /** The buckets are sealed in this many groups at most. More groups stop fewer writes at a time, and take longer. */
  readonly groups: number
  /** Least number of buckets of a group. */
  readonly groupSize: number
  /** Copies go on until a round copies at most this many entities. The copy under a seal is then a few of them. */
  readonly smallRound: number
  /**
   * A move of a plan is announced while those announced before it have at most this many entities and index rows to copy, some seconds of
   * work. So the moves share a wait. Earlier announcements would have writes go to two shards for longer.
   */
  readonly rowsAhead: number
}

export const TUNING: Tuning = {
  checkpointMs: 1_000,
  pollMs: 500,
  consumersMs: 10_000,
  groups: 16,
  groupSize: 16,
  smallRound: 200,
  rowsAhead: 50_000,
}

/** Options of a call, and the tuning that differs from `TUNING`. */
export type Tuned<Options> = Options & Partial<Tuning>
