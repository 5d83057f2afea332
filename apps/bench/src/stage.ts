import { setTimeout as sleep } from 'node:timers/promises'
import { startClient, type Client } from './client/client-process.ts'
import { sampleOf, type Cell, type Sample } from './measure/sample.ts'
import type { RunReport } from './client/orders.ts'
import { noUsage, type ServerMeter, type ServerUsage } from './measure/usage.ts'
import { createCleanup } from './servers/cleanup.ts'
import type { Server } from './servers/server.ts'
import type { SideDefinition, ServerKind } from './sides/side.ts'
import type { SideName } from './sides/side-names.ts'
import type { DataSetOptions } from './workload/data-set.ts'
import { scenarioOf } from './workload/scenarios.ts'

/** The databases of several sides with the same data in them, and the client processes that call them. */
export interface Stage {
  readonly sides: readonly SideName[]
  databasesOf(side: SideName): readonly string[]
  /** Returns the bytes per entry on disk right after the databases were filled. */
  bytesPerEntity(side: SideName): number
  measure(side: SideName, cell: Cell): Promise<Sample>
  meterOf(side: SideName): ServerMeter | undefined
  readonly data: DataSetOptions
  /** Writes the data set of an empty stage. */
  fill(side: SideName): Promise<Filled>
  /** Returns the first client process of a side. */
  clientOf(side: SideName): Client
  close(): Promise<void>
}

export interface Filled {
  readonly report: RunReport
  readonly before: ServerUsage
  readonly after: ServerUsage
}

export interface StageOptions {
  readonly sides: readonly SideDefinition[]
  readonly data: DataSetOptions
  readonly processes: number
  /** If true, the caller writes the data set by `fill`. */
  readonly isEmpty: boolean
  serverOf(kind: ServerKind): Promise<Server>
  /** Returns the URLs by which clients reach these databases, such as those of proxies. */
  readonly route?: (databases: readonly string[]) => Promise<readonly string[]>
  onProgress(step: string): void
}

/** Entries that are prepared per second of a run that uses them up: more than any side can use, with many callers or with one. */
const PREPARED = { many: 20_000, alone: 6_000 }

export async function openStage(options: StageOptions): Promise<Stage> {
  const { sides, data, processes, serverOf, onProgress, route = async (urls) => urls } = options
  const cleanup = createCleanup()
  try {
    const places = new Map<SideName, { readonly server: Server; readonly databases: readonly string[] }>()
    for (const side of sides) {
      const server = await serverOf(side.server)
      const databases = await server.createDatabases()
      places.set(side.name, { server, databases })
      cleanup.add(() => server.dropDatabases(databases))
      await side.create(databases, data.layout)
    }
    const placeOf = (side: SideName): { server: Server; databases: readonly string[] } => {
      const place = places.get(side)
      if (place === undefined) throw new Error(`The side ${side} is not on this stage.`)
      return place
    }

    // Each side has processes of its own, as a program has: in a shared process, V8 would compile code that fits no side well.
    // The processes start in parallel, because starting takes most of the time that a stage needs.
    const clients = new Map<SideName, readonly Client[]>()
    const clientsOf = (side: SideName): readonly Client[] => clients.get(side) ?? []
    for (const { name } of sides) {
      const started = Array.from({ length: processes }, startClient)
      for (const client of started) cleanup.add(() => client.close())
      clients.set(name, started)
    }
    for (const [name, { databases }] of places) {
      const routed = { name, databases: await route(databases) }
      await Promise.all(
        clientsOf(name).map((client, process) => client.do({ kind: 'open', data, process, sides: [routed] })),
      )
    }
    const clientOf = (side: SideName): Client => clientsOf(side)[0] as Client

    const bytes = new Map<SideName, number>()
    async function fill(side: SideName): Promise<Filled> {
      const { server, databases } = placeOf(side)
      const before = (await server.meter?.read()) ?? noUsage
      const report = await clientOf(side).run({ kind: 'fill', side, from: 0, to: data.entries })
      const after = (await server.meter?.read()) ?? noUsage
      bytes.set(side, (await server.bytesOf(databases)) / data.entries)
      return { report, before, after }
    }
    for (const { name, title } of options.isEmpty ? [] : sides) {
      onProgress(`${title}: ${data.entries} entries`)
      await fill(name)
    }

    return {
      sides: sides.map(({ name }) => name),
      databasesOf: (side) => placeOf(side).databases,
      meterOf: (side) => placeOf(side).server.meter,
      data,
      fill,
      bytesPerEntity: (side) => bytes.get(side) ?? Number.NaN,
      clientOf,
      async measure(side, cell) {
        const { meter } = placeOf(side).server
        const used = clientsOf(side).slice(0, cell.processes)
        const share = (whole: number): number => whole / used.length
        const { runIn = 0 } = cell
        if (scenarioOf(cell.scenario).prepare !== undefined) {
          const each = share(cell.callers === 1 ? PREPARED.alone : PREPARED.many)
          const calls = Math.ceil(each * (runIn + cell.seconds)) + cell.callers
          await Promise.all(
            used.map((client) => client.do({ kind: 'prepare', side, scenario: cell.scenario, calls })),
          )
        }
        const running = Promise.all(
          used.map((client) =>
            client.run({
              kind: 'run',
              side,
              scenario: cell.scenario,
              callers: Math.max(1, Math.round(share(cell.callers))),
              seconds: cell.seconds,
              runIn,
              rate: cell.rate === undefined ? undefined : share(cell.rate),
            }),
          ),
        )
        // A failure during the run-in is thrown by `await running`; without a handler, Node would end the process before that.
        running.catch(() => undefined)
        await sleep(runIn * 1000)
        const before = (await meter?.read()) ?? noUsage
        const reports = await running
        const after = (await meter?.read()) ?? noUsage
        await Promise.all(used.map((client) => client.do({ kind: 'settle', side })))
        return sampleOf(reports, before, after)
      },
      close: () => cleanup.run(),
    }
  } catch (error) {
    await cleanup.run()
    throw error
  }
}
