import { beforeEach, expect, it } from 'vitest'
import { byTag, byUser, openStore } from '../../test/stores.ts'
import { indexTarget } from '../pass/index-target.ts'
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
