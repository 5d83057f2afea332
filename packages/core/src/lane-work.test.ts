import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { heldStatements } from '../test/statements.ts'
import { createLane, type WorkFor } from './lane.ts'

/** A lane of strings, and for whom each of its statements ran. */
function laneFor(isWanted: () => boolean) {
  const context = new AsyncLocalStorage<unknown>()
  const workFor: WorkFor = {
    get isWanted() {
      return isWanted()
    },
    current: () => context.getStore(),
    run: (ones, more, work) => context.run([...ones, more], work),
  }
  const statements = heldStatements<string>()
  const ranFor: unknown[] = []
  const lane = createLane<string, string>({
    name: 'shard 0 entities insert',
    run(items) {
      ranFor.push(context.getStore())
      return statements.run(items)
    },
    maxBatch: 100,
    maxQueue: 1000,
    workFor,
  })
  return { lane, statements, ranFor, as: <T>(one: string, work: () => T): T => context.run(one, work) }
}

test('a statement runs for all of its calls, and for nobody who had an earlier one', async () => {
  const { lane, statements, ranFor, as } = laneFor(() => true)
  const first = as('ada', () => lane.submit('a'))
  const statement = await statements.inFlight()
  const later = [
    as('bo', () => lane.submitAll(['b', 'c'])),
    as('cy', () => lane.submit('d')),
    lane.submit('e'),
  ]
  await statement.answer()
  await statements.answerAll()
  await Promise.all([first, ...later])
  expect(ranFor).toEqual([
    ['ada', 0],
    ['bo', 'cy', 1],
  ])
})

test('the line that one has found empty does not work for that one when others come', async () => {
  const { lane, statements, ranFor, as } = laneFor(() => true)
  const first = as('ada', () => lane.submit('a'))
  await statements.inFlight()
  const later = lane.submit('b')
  await statements.answerAll()
  await Promise.all([first, later])
  expect(ranFor).toEqual([['ada', 0], [1]])
})

test('while nobody wants to know, nobody is asked', async () => {
  const { lane, statements, ranFor, as } = laneFor(() => false)
  const done = as('ada', () => lane.submit('a'))
  await statements.answerAll()
  await done
  // As it happens to be, not as `run` of WorkFor would make it.
  expect(ranFor).toEqual(['ada'])
})
