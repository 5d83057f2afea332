import type { Bench } from '../bench.ts'
import { profiled, type Shares } from '../client/profile.ts'
import { noUsage, usagePerCall } from '../measure/usage.ts'
import type { BulkName } from '../report/results.ts'
import type { SideDefinition } from '../sides/side.ts'
import type { SideName } from '../sides/side-names.ts'
import type { Stage } from '../stage.ts'
import type { ScenarioName } from '../workload/scenarios.ts'
import { buildIndex } from './build.ts'
import type { Part } from './part.ts'

/** Seconds of a profile: longer than turns of other parts, because a profile is made of samples. */
const SECONDS = { tiny: 0.3, quick: 0.6, full: 3 } as const
const profiledSides: readonly SideName[] = ['looseleaf', 'limit']
const profiledCalls: readonly ScenarioName[] = ['get', 'page', 'insert', 'update', 'list', 'listUnverified']

/** Divides the client's CPU by the code that ran. The profiler itself adds some CPU. */
export const profiling: Part = {
  description: 'CPU of the client, by kind of work',
  async run(bench) {
    const sides = bench.sidesOn('mariadb')
    await profileCalls(
      bench,
      sides.filter(({ name }) => profiledSides.includes(name)),
    )
    const looseleaf = sides.find(({ name }) => name === 'looseleaf')
    if (looseleaf !== undefined) await profileBulk(bench, looseleaf)
  },
}

async function profileCalls(bench: Bench, sides: readonly SideDefinition[]): Promise<void> {
  for (const layout of ['entries', 'site'] as const) {
    const scenarios = bench.scenariosOf(layout).filter((name) => profiledCalls.includes(name))
    if (sides.length === 0 || scenarios.length === 0) continue
    await bench.onStage({ sides, layout }, async (stage) => {
      for (const callers of layout === 'entries' ? [64, 1] : [64])
        for (const scenario of scenarios)
          for (const side of stage.sides) await profileCall(bench, stage, side, scenario, callers)
    })
  }
}

async function profileCall(
  bench: Bench,
  stage: Stage,
  side: SideName,
  scenario: ScenarioName,
  callers: number,
): Promise<void> {
  bench.progress(`${scenario}, ${callers} callers, ${side}: a profile`)
  const seconds = SECONDS[bench.scale.name]
  const order = { kind: 'run', side, scenario, callers, seconds } as const
  // Warm-up, so that the profile shows compiled code.
  await stage.clientOf(side).run({ ...order, seconds: seconds / 3 })
  await profile(bench, stage, { scenario, side, callers }, () =>
    stage.clientOf(side).run({ ...order, profile: true }),
  )
}

async function profileBulk(bench: Bench, side: SideDefinition): Promise<void> {
  const entries = bench.scale.build
  await bench.onStage({ sides: [side], entries, isEmpty: true }, async (stage) => {
    bench.progress(`${entries} entries: a profile`)
    await profile(bench, stage, { scenario: 'import', side: side.name }, () =>
      stage.clientOf(side.name).run({ kind: 'fill', side: side.name, from: 0, to: entries, profile: true }),
    )
    bench.progress(`an index over ${entries} entries: a profile`)
    await profile(bench, stage, { scenario: 'index build', side: side.name }, async () => {
      const [cpu, start] = [process.cpuUsage(), performance.now()]
      const { shares } = await profiled(() => buildIndex(stage.databasesOf(side.name)))
      const { user, system } = process.cpuUsage(cpu)
      return { calls: entries, seconds: (performance.now() - start) / 1000, clientCpu: user + system, shares }
    })
  })
}

/** Result of work under the profiler. */
interface Profiled {
  readonly calls: number
  readonly seconds: number
  /** µs. */
  readonly clientCpu: number
  readonly shares?: Shares | undefined
}

async function profile(
  bench: Bench,
  stage: Stage,
  row: { readonly scenario: ScenarioName | BulkName; readonly side: SideName; readonly callers?: number },
  work: () => Promise<Profiled>,
): Promise<void> {
  const meter = stage.meterOf(row.side)
  const before = (await meter?.read()) ?? noUsage
  const { calls, seconds, clientCpu, shares } = await work()
  const after = (await meter?.read()) ?? noUsage
  bench.addWork({
    ...row,
    entities: calls,
    seconds,
    clientCpuUs: clientCpu / calls,
    server: usagePerCall(before, after, calls),
    ...(shares !== undefined && { shares }),
  })
}
