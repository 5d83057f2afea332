import type { Shares } from '../client/profile.ts'
import type { Sample } from '../measure/sample.ts'
import { spreadOf } from '../measure/statistics.ts'
import type { SideName } from '../sides/side-names.ts'
import type { ScenarioName } from '../workload/scenarios.ts'
import type { MachineFacts } from './machine-facts.ts'
import type { PartName } from '../parts/part-names.ts'

/** What loads data past all sides, for comparison. */
export const loaderNames = ['LOAD DATA', 'multi-row INSERT'] as const
export type Measured = SideName | (typeof loaderNames)[number]

/** Work that is measured once and not call by call. */
export type BulkName = 'import' | 'index build' | 'sweep' | 'raise' | 'delivery'

/** Medians over the rounds. Null is what cannot be known. */
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
  /** Bytes of a bag as msgpack; null: those of a feed site, some 420. */
  readonly bag: number | null
  /** Milliseconds that the network takes each way. */
  readonly networkMs: number
  /** Calls a second that were due; null: each caller made its next call when the one before was answered. */
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
  /** The greatest memory of the process that did the work. */
  readonly memoryMiB?: number
  /** Calls of a load beside the work, whose times these are. */
  readonly loadCalls?: number
  /** Of a raise: share of the time in which one was under way on each shard. Of a seam: share of the client's CPU. */
  readonly share?: number
  /** How often a call asks whether anybody listens. */
  readonly looksPerOp?: number
  /** What the client's CPU was spent on. */
  readonly shares?: Shares
  /** The least and the greatest of a round. */
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
  /** `quick` is to see that all works, and not to be believed. */
  readonly scale: 'quick' | 'full' | 'tiny'
  readonly machine: MachineFacts
  /** Of the code that was measured; undefined outside of a checkout. */
  readonly commit?: string | undefined
  readonly servers: readonly Readonly<Record<string, unknown>>[]
  readonly leftOut: readonly string[]
}

/** Times of a load over time, in steps of a second. */
export interface Series {
  readonly part: PartName
  readonly side: Measured
  readonly what: string
  /** Milliseconds of calls that were due in a second, counted from the first. */
  readonly points: readonly { readonly second: number; readonly p50Ms: number; readonly p99Ms: number }[]
  /** Seconds at which the work began and ended. */
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

/** In place of what the same part gave before. */
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
    const values = samples.map(value).filter((one) => one !== undefined)
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

/** Four digits that count: more were noise. */
export const round = (value: number): number => Number(value.toPrecision(4))
