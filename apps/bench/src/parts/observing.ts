import { DataStore } from 'looseleaf'
import { noUsage } from '../measure/usage.ts'
import { shardsOf, sideOf } from '../sides/looseleaf-side.ts'
import { openDataSet } from '../workload/data-set.ts'
import { indexesOf } from '../workload/indexes.ts'
import { scenarioOf } from '../workload/scenarios.ts'
import type { Part } from './part.ts'
import { usual } from './usual.ts'

/** The private object by which a store asks whether it has observers. */
interface Seam {
  begin(name: string, index: undefined): unknown
  readonly isWanted: boolean
  readonly statements: { readonly isListening: boolean }
  readonly workFor: { readonly isWanted: boolean }
}

const CALLERS = 64
/** Calls per second of the scale's turns, so that a tiny run makes few. */
const CALLS_PER_SECOND = 10_000
const CHECKS = 3_000_000

/**
 * Measures the cost of the observer seam in a store without observers: checks per call, times the time of a check, as a share of the
 * call's CPU. The share is too small to show in the difference of two runs.
 */
export const observing: Part = {
  description: 'the cost of the observer seam without observers',
  async run(bench) {
    const sides = bench.sidesOn('mariadb').filter(({ name }) => name === 'looseleaf')
    if (sides.length === 0) return
    await bench.onStage({ sides }, async (stage) => {
      const open = (): Promise<DataStore> =>
        DataStore.open({
          shards: shardsOf('mariadb', stage.databasesOf('looseleaf')),
          indexes: indexesOf('entries').map(({ definition }) => definition),
        })
      const [store, counted] = [await open(), await open()]
      try {
        const checkNs = measureCheckNs(seamOf(store))
        const checks = countChecks(seamOf(counted))
        const { entries, users } = stage.data
        const data = openDataSet({ layout: 'entries', entries, users, bag: undefined }, 0)
        for (const scenario of usual(bench)) {
          bench.progress(`${scenario}: checks for observers`)
          const count = Math.ceil(bench.scale.seconds * CALLS_PER_SECOND)
          const run = async (target: DataStore): Promise<void> => {
            let remaining = count
            const side = sideOf(target, 'entries')
            const caller = async (): Promise<void> => {
              while (remaining-- > 0) await scenarioOf(scenario).call(side, data, [])
            }
            await Promise.all(Array.from({ length: CALLERS }, caller))
          }
          checks.number = 0
          await run(counted)
          const looksPerOp = checks.number / count
          await run(store)
          const [cpu, start] = [process.cpuUsage(), performance.now()]
          await run(store)
          const { user, system } = process.cpuUsage(cpu)
          const clientCpuUs = (user + system) / count
          bench.addWork({
            scenario,
            side: 'looseleaf',
            callers: CALLERS,
            entities: count,
            seconds: (performance.now() - start) / 1000,
            clientCpuUs,
            server: noUsage,
            looksPerOp,
            share: (looksPerOp * checkNs) / 1000 / clientCpuUs,
          })
        }
      } finally {
        await Promise.all([store.close(), counted.close()])
      }
    })
  },
}

const seamOf = (store: DataStore): Seam => (store as unknown as { readonly observing: Seam }).observing

/** Returns the nanoseconds of a check, as the mean over its three kinds. */
function measureCheckNs({ begin, statements, workFor }: Seam): number {
  let observers = 0
  const check = (times: number): number => {
    const start = performance.now()
    for (let i = 0; i < times; i += 3) {
      if (begin('get', undefined) !== undefined) observers++
      if (statements.isListening) observers++
      if (workFor.isWanted) observers++
    }
    return ((performance.now() - start) / times) * 1e6
  }
  // The first loop warms up the code.
  check(CHECKS)
  const ns = check(CHECKS)
  if (observers > 0) throw new Error('The store has an observer.')
  return ns
}

/** Replaces the checks of a store by ones that count. */
function countChecks(seam: Seam): { number: number } {
  const checks = { number: 0 }
  const owners: readonly (readonly [owner: object, name: string])[] = [
    [seam, 'isWanted'],
    [seam.statements, 'isListening'],
    [seam.workFor, 'isWanted'],
  ]
  const get = (): boolean => (checks.number++, false)
  for (const [owner, name] of owners) Object.defineProperty(owner, name, { get })
  const { begin } = seam
  seam.begin = (name, index) => (checks.number++, begin(name, index))
  return checks
}
