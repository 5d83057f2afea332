import { DataStore } from 'looseleaf'
import { noUsage } from '../measure/usage.ts'
import { shardsOf, sideOf } from '../sides/looseleaf-side.ts'
import { openDataSet } from '../workload/data-set.ts'
import { indexesOf } from '../workload/indexes.ts'
import { scenarioOf } from '../workload/scenarios.ts'
import type { Part } from './part.ts'
import { usual } from './usual.ts'

/** Where a store asks whether anybody listens. It is no part of its interface, so this is written down here. */
interface Seam {
  begin(name: string, index: undefined): unknown
  readonly isWanted: boolean
  readonly statements: { readonly isListening: boolean }
  readonly workFor: { readonly isWanted: boolean }
}

const CALLERS = 64
/** Calls for each of the seconds that a turn lasts: a tiny run makes few. */
const CALLS_A_SECOND = 10_000
const QUESTIONS = 3_000_000

/**
 * What the seam for observers costs while nobody listens: how often a call asks whether anybody does, times what the question takes, as a
 * share of the call. Too little for two runs to be told apart by it.
 */
export const observing: Part = {
  what: 'what it costs that somebody could listen',
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
        const ns = questionNs(seamOf(store))
        const looks = countLooks(seamOf(counted))
        const { entries, users } = stage.data
        const data = openDataSet({ layout: 'entries', entries, users, bag: undefined }, 0)
        for (const scenario of usual(bench)) {
          bench.progress(`${scenario}: who asks whether anybody listens`)
          const count = Math.ceil(bench.scale.seconds * CALLS_A_SECOND)
          const run = async (on: DataStore): Promise<void> => {
            let left = count
            const side = sideOf(on)
            const caller = async (): Promise<void> => {
              while (left-- > 0) await scenarioOf(scenario).call(side, data, [])
            }
            await Promise.all(Array.from({ length: CALLERS }, caller))
          }
          looks.number = 0
          await run(counted)
          const looksPerOp = looks.number / count
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
            share: (looksPerOp * ns) / 1000 / clientCpuUs,
          })
        }
      } finally {
        await Promise.all([store.close(), counted.close()])
      }
    })
  },
}

const seamOf = (store: DataStore): Seam => (store as unknown as { readonly observing: Seam }).observing

/** Nanoseconds of a question, of all kinds alike. */
function questionNs({ begin, statements, workFor }: Seam): number {
  let answers = 0
  const ask = (times: number): number => {
    const start = performance.now()
    for (let i = 0; i < times; i += 3) {
      if (begin('get', undefined) !== undefined) answers++
      if (statements.isListening) answers++
      if (workFor.isWanted) answers++
    }
    return ((performance.now() - start) / times) * 1e6
  }
  ask(QUESTIONS)
  const ns = ask(QUESTIONS)
  if (answers > 0) throw new Error('Somebody listens.')
  return ns
}

function countLooks(seam: Seam): { number: number } {
  const looks = { number: 0 }
  const owners: readonly (readonly [owner: object, name: string])[] = [
    [seam, 'isWanted'],
    [seam.statements, 'isListening'],
    [seam.workFor, 'isWanted'],
  ]
  const get = (): boolean => (looks.number++, false)
  for (const [owner, name] of owners) Object.defineProperty(owner, name, { get })
  const { begin } = seam
  seam.begin = (name, index) => (looks.number++, begin(name, index))
  return looks
}
