import { afterEach, beforeEach, expect, it } from 'vitest'
import { Hours, type Process } from '../../test/hours.ts'

/* Statements of the rounds of a consumer, on a simulated clock. */

const SECOND = 1_000

let hours: Hours
let process: Process

beforeEach(async () => {
  hours = new Hours()
  process = await hours.start()
})
afterEach(() => hours.end())

it('a consumer that has handled all changes of a short page reads the next page after its pause', async () => {
  const readAt: number[] = []
  hours.plan = ({ shard, operation, args }) => {
    const { maxBody } = (args[2] ?? {}) as { readonly maxBody?: number }
    if (shard === 0 && operation === 'pageOfChanges' && maxBody !== 0) readAt.push(hours.clock)
    return undefined
  }
  let handled = 0
  process.consume(() => void handled++, { pollMs: SECOND })
  await hours.pass(5 * SECOND)
  await Promise.all(Array.from({ length: 20 }, (_, n) => process.store.put({ n })))
  await hours.pass(5 * SECOND)
  expect(handled).toBe(20)
  expect(readAt.length).toBeGreaterThan(9)
  expect(readAt).toEqual([...new Set(readAt)])
})

it('an idle consumer saves the places of a shard at most once a second', async () => {
  let saves = 0
  hours.plan = ({ shard, operation }) => {
    if (shard === 0 && operation === 'saveAll') saves++
    return undefined
  }
  process.consume(() => {}, { pollMs: SECOND })
  await hours.pass(30 * SECOND)
  expect(saves).toBeGreaterThan(2)
  expect(saves).toBeLessThanOrEqual(31)
})
