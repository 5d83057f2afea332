import { compare } from './measure/compare.ts'
import type { Shares } from './client/profile.ts'
import type { Cell } from './measure/sample.ts'
import type { PartName } from './parts/part-names.ts'
import type { ServerUsage } from './measure/usage.ts'
import {
  numbersOf,
  round,
  type BulkName,
  type Measured as MeasuredSide,
  type ResultRow,
  type Series,
} from './report/results.ts'
import type { Scale } from './scale.ts'
import type { Server } from './servers/server.ts'
import { sides as allSides } from './sides/all-sides.ts'
import type { ServerKind, SideDefinition } from './sides/side.ts'
import type { SideName } from './sides/side-names.ts'
import { openStage, type Stage, type StageOptions } from './stage.ts'
import type { DataSetOptions } from './workload/data-set.ts'
import { indexesOf, type LayoutName } from './workload/indexes.ts'
import { scenarioNames, scenarioOf, type ScenarioName } from './workload/scenarios.ts'

/** Gives a part its servers, sides and scenarios, and takes its results. */
export interface Bench {
  readonly scale: Scale
  /** Returns the selected sides on servers of these kinds. Sides whose server is missing are left out. */
  sidesOn(...kinds: readonly ServerKind[]): readonly SideDefinition[]
  /** Returns servers that later parts reuse. Default of `shards`: the scale's. */
  serverOf(kind: ServerKind, shards?: number): Promise<Server>
  /** Returns the selected scenarios of a layout. */
  scenariosOf(layout: LayoutName): readonly ScenarioName[]
  /** Opens databases with data for these sides, runs the work, and drops the databases. */
  onStage(options: OnStage, work: (stage: Stage, measure: Measure) => Promise<void>): Promise<void>
  /** Adds a result that is measured once, on the shards of the scale. */
  addWork(work: Work): void
  addSeries(series: Series): void
  progress(step: string): void
  /** Notes for the report why a selected measurement cannot be made. */
  leaveOut(reason: string): void
}

/** Measures a scenario on the sides that support it, in turns, and adds a result row for each side. */
export type Measure = (
  scenario: ScenarioName,
  settings?: Partial<Cell> & { readonly rounds?: number },
) => Promise<void>

export interface Work {
  readonly scenario: BulkName | ScenarioName
  readonly side: MeasuredSide
  readonly entities: number
  readonly seconds: number
  /** µs per entity. */
  readonly clientCpuUs: number
  readonly server: ServerUsage
  /** Default: 1. */
  readonly callers?: number
  readonly bytesPerEntity?: number
  readonly memoryMiB?: number
  /** Calls a second of the load beside the work. The next four fields describe the same load. */
  readonly rate?: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  readonly maxMs?: number
  readonly loadCalls?: number
  /** For `raise`: share of the time during which a shard's raise was in flight. For `observing`: share of the client's CPU. */
  readonly share?: number
  readonly looksPerOp?: number
  readonly shares?: Shares
}

export interface OnStage extends Partial<Omit<DataSetOptions, 'users'>> {
  readonly sides: readonly SideDefinition[]
  readonly processes?: number
  readonly shards?: number
  readonly isEmpty?: boolean
  readonly route?: StageOptions['route']
  readonly networkMs?: number
}

export interface BenchOptions {
  readonly part: PartName
  readonly scale: Scale
  readonly sides: readonly SideName[]
  readonly scenarios: readonly ScenarioName[]
  readonly bag: number | undefined
  serverOf(kind: ServerKind, shards: number): Promise<Server>
  /** Returns the reason why a server cannot be used; undefined if it can. */
  missing(kind: ServerKind): string | undefined
  progress(step: string): void
}

/** Entries per user in every data set. The `range` scenario reads five full pages of 20. */
export const ENTRIES_PER_USER = 100

export interface Measured {
  readonly bench: Bench
  readonly rows: readonly ResultRow[]
  readonly series: readonly Series[]
  /** Reasons why selected measurements are missing. */
  readonly leftOut: readonly string[]
}

export function createBench(options: BenchOptions): Measured {
  const { part, scale, serverOf, missing, progress } = options
  const rows: ResultRow[] = []
  const series: Series[] = []
  const leftOut: string[] = []
  const bench: Bench = {
    scale,
    sidesOn: (...kinds) =>
      allSides.filter(
        ({ name, server, isVariant, onlyIn = isVariant === true ? 'calls' : part }) =>
          kinds.includes(server) &&
          options.sides.includes(name) &&
          missing(server) === undefined &&
          onlyIn === part,
      ),
    serverOf: (kind, shards = scale.shards) => serverOf(kind, shards),
    scenariosOf: (layout) =>
      scenarioNames.filter((name) => options.scenarios.includes(name) && scenarioOf(name).layout === layout),
    async onStage(on, work) {
      const layout = on.layout ?? 'entries'
      const { sides, processes = 1, shards = scale.shards, entries = scale.entries, networkMs = 0 } = on
      const bag = on.bag ?? options.bag
      const stage = await openStage({
        sides,
        data: { layout, entries, users: Math.max(1, Math.floor(entries / ENTRIES_PER_USER)), bag },
        processes,
        isEmpty: on.isEmpty === true,
        serverOf: (kind) => serverOf(kind, shards),
        ...(on.route === undefined ? {} : { route: on.route }),
        onProgress: progress,
      })
      try {
        await work(stage, async (scenario, settings = {}) => {
          const { rounds = part === 'calls' ? scale.rounds : scale.otherRounds, ...given } = settings
          const cell: Cell = { scenario, callers: 64, processes, seconds: scale.seconds, ...given }
          const supporting = sides
            .filter((side) => side.without?.includes(scenario) !== true)
            .map(({ name }) => name)
          const callers = cell.rate === undefined ? `${cell.callers} callers` : `${cell.rate} a second`
          if (supporting.length === 0) return
          progress(`${scenario}, ${callers}`)
          for (const [side, samples] of await compare(
            supporting,
            cell,
            { ...scale, rounds },
            stage.measure,
          )) {
            rows.push({
              part,
              scenario,
              side,
              callers: cell.callers,
              processes: cell.processes,
              shards,
              entities: entries,
              indexes: indexesOf(layout).length,
              bag: bag ?? null,
              networkMs,
              rate: cell.rate ?? null,
              ...numbersOf(samples),
              bytesPerEntity: round(stage.bytesPerEntity(side)),
            })
          }
        })
      } finally {
        await stage.close()
      }
    },
    addWork({
      server,
      seconds,
      entities,
      bytesPerEntity,
      memoryMiB,
      rate,
      p50Ms = 0,
      p99Ms = 0,
      maxMs = 0,
      ...work
    }) {
      const sample = {
        opsPerSecond: entities / seconds,
        p50Ms,
        p99Ms,
        maxMs,
        clientCpuUs: work.clientCpuUs,
        server,
      }
      rows.push({
        part,
        callers: 1,
        ...work,
        processes: 1,
        shards: scale.shards,
        entities,
        indexes: indexesOf('entries').length,
        bag: options.bag ?? null,
        networkMs: 0,
        rate: rate ?? null,
        ...numbersOf([sample]),
        bytesPerEntity: bytesPerEntity === undefined ? null : round(bytesPerEntity),
        ...(memoryMiB === undefined ? {} : { memoryMiB: round(memoryMiB) }),
      })
    },
    addSeries: (added) => series.push(added),
    progress,
    leaveOut: (reason) => leftOut.push(reason),
  }
  return { bench, rows, series, leftOut }
}
