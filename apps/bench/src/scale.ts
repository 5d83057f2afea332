/** Amounts of work in a run. */
export interface Scale {
  readonly name: 'quick' | 'full' | 'tiny'
  /** Rounds of the part `calls`. */
  readonly rounds: number
  /** Rounds of all other parts. */
  readonly otherRounds: number
  /** Seconds of each side in a round. */
  readonly seconds: number
  /** Warm-up of each side before the first round, as a multiple of `seconds`. In a full run, V8 has compiled the hot code by then. */
  readonly warmUpShare: number
  /** Entries that are stored before measuring. */
  readonly entries: number
  readonly shards: number
  readonly callers: readonly number[]
  readonly processes: readonly number[]
  readonly bags: readonly number[]
  /** Calls a second in the part `rates`. */
  readonly rates: readonly number[]
  /** Numbers of entities, shards and indexes in the parts of these names. */
  readonly growth: readonly number[]
  readonly growthShards: readonly number[]
  readonly growthIndexes: readonly ('0' | '2' | '4' | '8')[]
  /** Entities of the part `import`. */
  readonly bulk: number
  /** Entities of the parts `build` and `sweep`, and of the bulk work in `profile`. */
  readonly build: number
}

export const scales: Readonly<Record<Scale['name'], Scale>> = {
  tiny: {
    name: 'tiny',
    rounds: 1,
    otherRounds: 1,
    seconds: 0.02,
    warmUpShare: 0.5,
    entries: 400,
    shards: 2,
    callers: [8],
    processes: [2],
    bags: [80],
    rates: [100],
    growth: [500],
    growthShards: [1],
    growthIndexes: ['2'],
    bulk: 500,
    build: 500,
  },
  quick: {
    name: 'quick',
    rounds: 2,
    otherRounds: 2,
    seconds: 0.06,
    warmUpShare: 0.5,
    entries: 2_500,
    shards: 2,
    callers: [8, 256],
    processes: [1, 2],
    bags: [80, 8_000],
    rates: [500, 2_000],
    growth: [1_000, 5_000],
    growthShards: [1, 2],
    growthIndexes: ['0', '4'],
    bulk: 5_000,
    build: 5_000,
  },
  full: {
    name: 'full',
    rounds: 7,
    otherRounds: 3,
    seconds: 0.3,
    warmUpShare: 8,
    entries: 20_000,
    shards: 2,
    callers: [8, 256],
    processes: [1, 2, 4],
    bags: [80, 2_000, 8_000],
    rates: [500, 2_000, 4_000, 8_000],
    growth: [10_000, 100_000, 1_000_000],
    growthShards: [1, 2, 4, 8],
    growthIndexes: ['0', '2', '4', '8'],
    bulk: 200_000,
    build: 200_000,
  },
}
