import { tunedCleanIndex } from '@looseleaf/cleaner/internal'
import fc from 'fast-check'
import { passingIndexes } from '../indexes.ts'
import { answerOf, type World } from '../world.ts'
import { command, type Command } from './command.ts'

const numbers = fc.nat(passingIndexes.length - 1)
const names = fc.constantFrom('extra', 'more')
const quickly = { settleMs: 0, pollMs: 1, graceMs: 0 }

/** If the epoch rises before lost rows are deleted, the cleaner has to delete them. */
async function change(world: World, work: () => Promise<unknown>): Promise<string> {
  await world.store.settled()
  return answerOf(work)
}

const add = command('addIndex', numbers, async (number, model, world, text) => {
  const definition = passingIndexes[number]!
  const actual = await change(world, () => world.store.addIndex(definition))
  const expected = await answerOf(() => model.oracle.addIndex(definition))
  world.compare(text, actual, expected)
})

const clean = command('cleanIndex', names, async (name, model, world, text) => {
  const actual = await change(world, async () => {
    await tunedCleanIndex(world.store, name, quickly)
  })
  const expected = await answerOf(() => model.oracle.clean(name))
  world.compare(text, actual, expected)
})

const addAndClean = command('addIndex and cleanIndex', numbers, async (number, model, world, text) => {
  const definition = passingIndexes[number]!
  const actual = await change(world, async () => {
    await world.store.addIndex(definition)
    await tunedCleanIndex(world.store, definition.name, quickly)
  })
  const expected = await answerOf(() => {
    model.oracle.addIndex(definition)
    model.oracle.clean(definition.name)
  })
  world.compare(text, actual, expected)
})

const drop = command('dropIndex', fc.oneof(names, numbers), async (nameOrNumber, model, world, text) => {
  const which = typeof nameOrNumber === 'string' ? nameOrNumber : passingIndexes[nameOrNumber]!
  const actual = await change(world, () => world.store.dropIndex(which))
  const expected = await answerOf(() => model.oracle.dropIndex(which))
  world.compare(text, actual, expected)
})

const restart = command('restart', fc.nat(2), async (codec, _, world, text) => {
  await world.restart(codec)
  world.note(text, 'done')
})

export const indexChanges: readonly fc.Arbitrary<Command>[] = [
  add,
  clean,
  addAndClean,
  addAndClean,
  drop,
  restart,
]
