import { formatId } from '@looseleaf/core'
import {
  consumersBehind,
  editTask,
  entitiesIn,
  partitionNumbers,
  partitionTask,
  REGISTRY_TASK,
  registryToText,
  type Registration,
} from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import { announcedMove, BUCKETS } from './announced-move.ts'

/** Time of writing at which the source gave the buckets up. */
const END = 100
/** Floor of the source when its rows are about to be deleted. */
const FLOOR = 50

interface Place {
  readonly updated: number
  readonly since: number
}

const OLD: Place = { updated: END, since: 0 }
const NEW: Place = { updated: END - 1, since: FLOOR }

test('a source waits for consumers that have not handled all changes of its buckets, unless they take the copies at the target', async () => {
  const { work, driver, setServes } = await announcedMove()
  const away = { move: 1, attempt: 1, buckets: BUCKETS, to: 1, end: END }
  await setServes(0, { owns: '10-1365', away: [away] })
  const idIn = (buckets: string): string => {
    const isIn = entitiesIn(work.context, buckets)
    for (;;) {
      const id = work.context.router.newId()
      if (isIn(id)) return formatId(id)
    }
  }
  const inside = { id: idIn(BUCKETS) }
  const outside = { id: idIn('10-1365') }
  /** The places of the first partition and of the others, and the entities whose changes fail. */
  const consumers: Readonly<Record<string, readonly [Place, Place, ...(typeof inside)[]]>> = {
    'late in one partition': [{ ...OLD, updated: END - 1 }, OLD],
    'at the end': [OLD, OLD],
    'failing inside': [OLD, OLD, inside],
    'failing outside': [OLD, OLD, outside],
    'failing in both': [OLD, OLD, outside, inside],
    new: [NEW, NEW],
    'new in all partitions but one': [{ ...NEW, since: FLOOR - 1 }, NEW],
  }
  const registration: Registration = { incarnation: 'first', at: 1, begun: [0, 0, 0], floors: [0, 0, 0] }
  const registry = registryToText(new Map(Object.keys(consumers).map((name) => [name, registration])))
  const { tasks } = driver.shards[0]!
  const save = async (task: string, text: string): Promise<void> => {
    expect(await editTask(tasks, task, () => text, { owner: 'test', signal: undefined })).toBe(true)
  }
  await save(REGISTRY_TASK, registry)
  for (const [name, [first, others, ...failing]] of Object.entries(consumers))
    for (const number of partitionNumbers) {
      const place = number === 0 ? first : others
      const record = { incarnation: 'first', ...place, failing: number === 0 ? failing : [] }
      await save(partitionTask(name, number), JSON.stringify(record))
    }
  const behind = [
    'failing in both',
    'failing inside',
    'late in one partition',
    'new',
    'new in all partitions but one',
  ]
  expect(await consumersBehind(work)).toEqual(behind)
  expect(await consumersBehind(work, FLOOR)).toEqual(behind.filter((name) => name !== 'new'))
})
