import { tunedSweep } from '@looseleaf/cleaner/internal'
import { metaOf, type Bag } from '@looseleaf/core'
import { unchanged, type PutResult } from '@looseleaf/store'
import fc from 'fast-check'
import type { Model } from '../model.ts'
import { answerOf, type World } from '../world.ts'
import { bags } from '../values.ts'
import { command, type Command } from './command.ts'

/**
 * Condition of a write on the version: none, the last one seen, an outdated one, or that there is no entity.
 */
type VersionCondition = 'nothing' | 'current' | 'outdated' | 'none'

const slots = fc.nat(12)
const condition = fc.constantFrom<VersionCondition>(
  'nothing',
  'nothing',
  'nothing',
  'current',
  'outdated',
  'none',
)

const put = command(
  'put',
  fc.record({
    slot: fc.option(slots, { freq: 8 }),
    idIn: fc.constantFrom('options', 'bag'),
    bag: bags,
    condition,
  }),
  async ({ slot, idIn, bag, condition: version }, model, world, text) => {
    const id = slot === null ? undefined : model.idAt(slot)
    const options = versionOption(model, id, id === undefined ? 'nothing' : version)
    await write(model, world, text, {
      id,
      actual: () =>
        id === undefined || idIn === 'options'
          ? world.store.put(bag, { ...options, ...(id !== undefined && { id }) })
          : world.store.put({ ...bag, id }, options),
      expected: (key) => model.oracle.put(key, bag, id === undefined || holds(model, id, version)),
    })
  },
)

/** Puts the bag of an entity under another id, so that unique keys collide. */
const putCopy = command(
  'put a copy',
  fc.record({ from: slots, slot: fc.option(slots) }),
  async ({ from, slot }, model, world, text) => {
    const bag = model.oracle.entities.get(model.idAt(from).toLowerCase()) ?? {}
    const id = slot === null ? undefined : model.idAt(slot)
    await write(model, world, text, {
      id,
      actual: () => world.store.put(bag, id === undefined ? {} : { id }),
      expected: (key) => model.oracle.put(key, bag),
    })
  },
)

const insert = command(
  'insert',
  fc.record({ slot: fc.option(slots), bag: bags }),
  async ({ slot, bag }, model, world, text) => {
    const id = slot === null ? undefined : model.idAt(slot)
    await write(model, world, text, {
      id,
      actual: () => world.store.insert(bag, id === undefined ? {} : { id }),
      expected: (key) => model.oracle.insert(key, bag),
    })
  },
)

const update = command(
  'update',
  fc.record({ slot: slots, how: fc.constantFrom('merge', 'replace', 'nothing'), bag: bags, condition }),
  async ({ slot, how, bag, condition: version }, model, world, text) => {
    const id = model.idAt(slot)
    const change = (before: Bag): Bag => (how === 'replace' ? bag : { ...before, ...bag })
    const keeps = how === 'nothing'
    const isCurrent = holds(model, id, version)
    await write(model, world, text, {
      id,
      changesNothing: keeps,
      actual: () =>
        world.store.update(id, keeps ? () => unchanged : change, versionOption(model, id, version)),
      expected: (key) => model.oracle.update(key, keeps ? () => undefined : change, isCurrent),
    })
  },
)

const remove = command('delete', fc.record({ slot: slots, condition }), async (given, model, world, text) => {
  const id = model.idAt(given.slot)
  const isCurrent = holds(model, id, given.condition)
  const actual = await answerOf(() => world.store.delete(id, versionOption(model, id, given.condition)))
  const expected = await answerOf(() => model.oracle.delete(id.toLowerCase(), isCurrent))
  model.wrote(id, undefined)
  world.compare(text, actual, expected)
})

const putMany = command(
  'putMany',
  fc.array(bags, { maxLength: 8, size: 'max' }),
  async (many, model, world, text) => {
    const fates = await world.store.putMany(many, { fates: true })
    const actual: string[] = []
    const expected: string[] = []
    // Any one of several writes with the same key may get it; the others are refused.
    const inOrder = [...fates.entries()].toSorted(([, a], [, b]) => Number(b.ok) - Number(a.ok))
    for (const [i, fate] of inOrder) {
      const id = fate.ok ? fate.value.id : 'none was made'
      actual.push(
        await answerOf(() => (fate.ok ? { created: fate.value.created } : Promise.reject(fate.error))),
      )
      expected.push(await answerOf(() => model.oracle.put(id, many[i]!)))
      if (!fate.ok) continue
      model.wrote(id, fate.value.version)
      model.ids.push(id)
    }
    world.compare(text, actual.join('; '), expected.join('; '))
  },
)

export const writes: readonly fc.Arbitrary<Command>[] = [put, put, putCopy, insert, update, remove, putMany]

interface Write {
  readonly id: string | undefined
  readonly changesNothing?: boolean
  actual(): Promise<PutResult>
  expected(key: string): { created: boolean }
}

async function write(model: Model, world: World, text: string, call: Write): Promise<void> {
  let result: PutResult | undefined
  const actual = await answerOf(async () => {
    result = await call.actual()
    return { id: result.id, created: result.created }
  })
  // A fresh id is known only after the call; the oracle takes it from the answer.
  const id = (call.id ?? result?.id ?? 'none was made').toLowerCase()
  const expected = await answerOf(() => ({ id, ...call.expected(id) }))
  world.compare(text, actual, expected)
  if (actual === 'error DUPLICATE_KEY' && call.id !== undefined) await clean(model, world, call.id)
  if (result === undefined) return
  if (call.changesNothing) {
    if (result.version !== model.versionOf(id)) world.fail(`${text} answered version ${result.version}`)
    return
  }
  model.wrote(id, result.version)
  if (call.id === undefined) model.ids.push(id)
}

/**
 * Deletes the rows and claims that a refused write of a given id leaves to the cleaner. The cleaner may raise the version of the entity
 * for that.
 */
async function clean(model: Model, world: World, id: string): Promise<void> {
  await world.store.settled()
  await tunedSweep(world.store, { graceMs: 0 }, ['rows'])
  const entity = await world.store.get(id)
  const version = entity && metaOf(entity)?.version
  if (version !== model.versionOf(id)) model.wrote(id, version)
}

function holds(model: Model, id: string, version: VersionCondition): boolean {
  if (version === 'none') return !model.oracle.entities.has(id.toLowerCase())
  return version !== 'outdated'
}

function versionOption(
  model: Model,
  id: string | undefined,
  version: VersionCondition,
): { ifVersion?: number } {
  if (id === undefined || version === 'nothing') return {}
  if (version === 'none') return { ifVersion: 0 }
  const current = model.versionOf(id)
  if (version === 'current') return { ifVersion: current }
  return { ifVersion: current === 0 ? 1 : current - 1 }
}
