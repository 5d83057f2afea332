import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { heldStatements } from '../../test/statements.ts'
import { createLane, type WorkFor } from './lane.ts'

/** Creates a lane of strings that notes the traces of each statement. */
function laneFor(isWanted: () => boolean) {
  const context = new AsyncLocalStorage<unknown>()
  const workFor: WorkFor = {
    get isWanted() {
      return isWanted()
    },
    current: () => context.getStore(),
    run: (traces, untraced, work) => context.run([...traces, untraced], work),
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
  return { lane, statements, ranFor, as: <T>(trace: string, work: () => T): T => context.run(trace, work) }
}

test('a statement runs for all of its calls, and for none of an earlier statement', async () => {
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

test('the caller that found the lane idle has no part in later statements', async () => {
  const { lane, statements, ranFor, as } = laneFor(() => true)
  const first = as('ada', () => lane.submit('a'))
  await statements.inFlight()
  const later = lane.submit('b')
  await statements.answerAll()
  await Promise.all([first, later])
  expect(ranFor).toEqual([['ada', 0], [1]])
})

test('without a trace the lane calls neither current nor run', async () => {
  const { lane, statements, ranFor, as } = laneFor(() => false)
  const done = as('ada', () => lane.submit('a'))
  await statements.answerAll()
  await done
  // The context of the caller itself, not of `WorkFor.run`.
  expect(ranFor).toEqual(['ada'])
})
