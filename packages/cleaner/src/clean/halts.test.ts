import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { beforeEach, expect, it } from 'vitest'
import { byTag, byUser, openStore } from '../../test/stores.ts'
import { indexTarget, type IndexTarget } from '../pass/index-target.ts'
import { createHalts, type Halts } from './halts.ts'

let wall: number
let elapsed: number
const time = { now: () => wall, elapsed: () => elapsed, sleep: async () => undefined }

beforeEach(() => {
  wall = Date.now()
  elapsed = 0
})

async function haltsAfterPause(
  everyMs: number,
): Promise<{ readonly halts: Halts; readonly isFound: () => boolean }> {
  const store = await openStore({ indexes: [], time })
  await store.addIndex([byUser, byTag])
  const targets = store.context.catalog.current().indexes.map((entry) => indexTarget(store.context, entry))
  const halts = createHalts(store.context, targets, everyMs)
  await store.pauseIndex('by_user')
  return {
    halts,
    isFound() {
      const names = targets.filter((target) => halts.has(target)).map(({ entry }) => entry.name)
      expect(['', 'by_user']).toContain(names.join())
      return names.length > 0
    },
  }
}

it('`refresh` looks for pauses once per `everyMs`', async () => {
  const { halts, isFound } = await haltsAfterPause(1_000)
  elapsed += 999
  await halts.refresh({})
  expect(isFound()).toBe(false)
  elapsed += 1
  await halts.refresh({})
  expect(isFound()).toBe(true)
})

it('a pause is found even if the clock is set back', async () => {
  const { halts, isFound } = await haltsAfterPause(1_000)
  wall -= 3_600_000
  elapsed += 1_000
  await halts.refresh({})
  expect(isFound()).toBe(true)
})

/** Returns the context of a store whose reloads of the catalog are counted. */
function counting({ context }: DataStore): {
  readonly context: EngineContext
  readonly reloads: () => number
} {
  const { catalog } = context
  let reloads = 0
  const reload: typeof catalog.reload = (options) => (reloads++, catalog.reload(options))
  return { context: { ...context, catalog: { ...catalog, reload } }, reloads: () => reloads }
}

const targetsOf = ({ context }: DataStore): IndexTarget[] =>
  context.catalog.current().indexes.map((entry) => indexTarget(context, entry))

it('`refresh` reads no catalog for ready indexes, nor once all fillings are halted', async () => {
  const ready = await openStore({ indexes: [byUser], time })
  const ofReady = counting(ready)
  await createHalts(ofReady.context, targetsOf(ready), 0).refresh({})
  expect(ofReady.reloads()).toBe(0)

  const filling = await openStore({ indexes: [], time })
  await filling.addIndex([byUser, byTag])
  const [user] = targetsOf(filling)
  const { context, reloads } = counting(filling)
  const halts = createHalts(context, [user!], 0)
  // Another job fills this index.
  await filling.pauseIndex('by_tag')
  await halts.refresh({})
  expect([reloads(), halts.has(user!)]).toEqual([1, false])
  await filling.pauseIndex('by_user')
  await halts.refresh({})
  expect([reloads(), halts.has(user!)]).toEqual([2, true])
  await halts.refresh({})
  expect(reloads()).toBe(2)
})

it('each `refresh` that reads the catalog puts the next one off', async () => {
  const filling = await openStore({ indexes: [], time })
  await filling.addIndex(byUser)
  const { context, reloads } = counting(filling)
  const { refresh } = createHalts(context, targetsOf(filling), 1_000)
  for (const [later, expected] of [
    [1_000, 1],
    [999, 1],
    [1, 2],
  ] as const) {
    elapsed += later
    await refresh({})
    expect(reloads()).toBe(expected)
  }
})
