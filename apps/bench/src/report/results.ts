import type { Shares } from '../client/profile.ts'
import type { Sample } from '../measure/sample.ts'
import { spreadOf } from '../measure/statistics.ts'
import type { SideName } from '../sides/side-names.ts'
import type { ScenarioName } from '../workload/scenarios.ts'
import type { MachineFacts } from './machine-facts.ts'
import type { PartName } from '../parts/part-names.ts'

/** Bulk loaders that are measured beside the sides. */
export const loaderNames = ['LOAD DATA', 'multi-row INSERT'] as const
export type Measured = SideName | (typeof loaderNames)[number]

/** Work that is measured as a whole and not call by call. */
export type BulkName = 'import' | 'index build' | 'sweep' | 'raise' | 'delivery'

/** One measured row. Numbers are medians over the rounds; null is unknown. CPU is in µs per call or entity. */
export interface ResultRow {
  readonly part: PartName
  readonly scenario: ScenarioName | BulkName
  readonly side: Measured
  readonly callers: number
  readonly processes: number
  readonly shards: number
  readonly entities: number
  /** Indexes of the data set. */
  readonly indexes: number
  /** Approximate bytes of a bag as msgpack. Null stands for entries of a feed site, some 420 bytes each. */
  readonly bag: number | null
  /** Delay of the network in milliseconds each way. */
  readonly networkMs: number
  /** Calls a second that were due. Null: each caller made its next call when the previous one was answered. */
  readonly rate: number | null
  readonly opsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly clientCpuUs: number
  readonly serverCpuUs: number | null
  readonly statementsPerOp: number | null
  readonly flushesPerOp: number | null
  readonly bytesPerEntity: number | null
  /** Peak memory of the process that did the work. */
  readonly memoryMiB?: number
  /** Calls of the load beside the work. The times of this row are theirs. */
  readonly loadCalls?: number
  /** For `raise`: share of the time during which a shard's raise was in flight. For `observing`: share of the client's CPU. */
  readonly share?: number
  /** Checks for observers per call. */
  readonly looksPerOp?: number
  /** Client CPU by kind of work. */
  readonly shares?: Shares
  /** Least and greatest value of a round. */
  readonly spread: {
    readonly opsPerSecond: readonly [number, number]
    readonly p99Ms: readonly [number, number]
  }
  /** Calls a second of each round, for ratios to other sides. */
  readonly rounds: readonly number[]
}

export interface PartFacts {
  readonly started: string
  readonly finished: string
  /** Numbers of a `quick` or `tiny` run only show that everything works. */
  readonly scale: 'quick' | 'full' | 'tiny'
  readonly machine: MachineFacts
  /** Commit of the measured code, with a + if the work tree differed from it; undefined outside of a checkout. */
  readonly commit?: string | undefined
  readonly servers: readonly Readonly<Record<string, unknown>>[]
  readonly leftOut: readonly string[]
}

/** Times of a load, second by second. */
export interface Series {
  readonly part: PartName
  readonly side: Measured
  readonly what: string
  /** Times of the calls that were due in each second. Seconds count from the start of the load. */
  readonly points: readonly { readonly second: number; readonly p50Ms: number; readonly p99Ms: number }[]
  /** Begin and end of the work, in the same seconds. */
  readonly from: number
  readonly to: number
}

export interface Results {
  readonly format: 2
  readonly parts: Partial<Record<PartName, PartFacts>>
  readonly results: readonly ResultRow[]
  readonly series: readonly Series[]
}

export const noResults: Results = { format: 2, parts: {}, results: [], series: [] }

/** Returns the results with those of a part replaced. */
export function withPart(
  all: Results,
  part: PartName,
  facts: PartFacts,
  results: readonly ResultRow[],
  series: readonly Series[],
): Results {
  const others = <T extends { readonly part: PartName }>(items: readonly T[]): T[] =>
    items.filter((item) => item.part !== part)
  return {
    format: 2,
    parts: { ...all.parts, [part]: facts },
    results: [...others(all.results), ...results],
    series: [...others(all.series), ...series],
  }
}

type Numbers = Pick<
  ResultRow,
  | 'opsPerSecond'
  | 'p50Ms'
  | 'p99Ms'
  | 'maxMs'
  | 'clientCpuUs'
  | 'serverCpuUs'
  | 'statementsPerOp'
  | 'flushesPerOp'
  | 'spread'
  | 'rounds'
>

export function numbersOf(samples: readonly Sample[]): Numbers {
  const rounds = samples.map(({ opsPerSecond }) => round(opsPerSecond))
  const [ops, p99] = [spreadOf(rounds), spreadOf(samples.map(({ p99Ms }) => p99Ms))]
  const median = (value: (sample: Sample) => number | undefined): number | null => {
    const values = samples.map(value).filter((number) => number !== undefined)
    return values.length === 0 ? null : round(spreadOf(values).median)
  }
  return {
    opsPerSecond: ops.median,
    p50Ms: median(({ p50Ms }) => p50Ms) ?? 0,
    p99Ms: round(p99.median),
    maxMs: median(({ maxMs }) => maxMs) ?? 0,
    clientCpuUs: median(({ clientCpuUs }) => clientCpuUs) ?? 0,
    serverCpuUs: median(({ server }) => server.cpu),
    statementsPerOp: median(({ server }) => server.statements),
    flushesPerOp: median(({ server }) => server.flushes),
    spread: { opsPerSecond: [ops.min, ops.max], p99Ms: [round(p99.min), round(p99.max)] },
    rounds,
  }
}

/** Rounds to four significant digits; the rest is noise. */
export const round = (value: number): number => Number(value.toPrecision(4))
