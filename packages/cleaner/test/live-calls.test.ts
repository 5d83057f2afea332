import { platformTime } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { cleanIndex } from '../src/clean/clean-index.ts'
import { openStore } from './stores.ts'

/* The cleaner works in the process that serves calls, on SQLite, whose statements block the process. */

const ENTITIES = 120
/** Milliseconds for which the cleaner decodes a body. So a slice is a few bodies on any machine. */
const DECODE_MS = 1
const ID = '00000000-0000-4000-8000-000000000001'

let store: DataStore
let cleaned: { readonly context: EngineContext }
/** Time that the cleaner has decoded bodies, their number, and the largest number in a turn of the event loop. */
let decoded: { ms: number; bodies: number; mostInATurn: number }

beforeEach(async () => {
  decoded = { ms: 0, bodies: 0, mostInATurn: 0 }
  store = await openStore()
  await store.put({ id: ID, user_id: 'ann' })
  await store.putMany(
    Array.from({ length: ENTITIES }, (_, i) => ({ user_id: `user ${i % 9}`, published: i, tags: ['a'] })),
  )
  let inTurn = 0
  const { bodies } = store.context
  cleaned = {
    context: {
      ...store.context,
      bodies: {
        ...bodies,
        decode(body, shard) {
          if (inTurn++ === 0) platformTime.setImmediate(() => void (inTurn = 0))
          const began = platformTime.elapsed()
          while (platformTime.elapsed() - began < DECODE_MS);
          decoded.ms += platformTime.elapsed() - began
          decoded.bodies++
          decoded.mostInATurn = Math.max(decoded.mostInATurn, inTurn)
          return bodies.decode(body, shard)
        },
      },
    },
  }
})

afterEach(() => store.close())

const cleanings = [
  ['a cleaning', () => cleanIndex(cleaned)],
  ['a rewriting of all rows', () => cleanIndex(cleaned, 'by_user', { restart: true })],
] as const

it.each(cleanings)('%s works on few entities in a turn of the event loop', async (_, clean) => {
  await clean()
  expect(decoded.bodies).toBeGreaterThanOrEqual(ENTITIES)
  // A slice is over after two bodies.
  expect(decoded.mostInATurn).toBeLessThan(20)
})

it.each(cleanings)(
  '%s leaves most of the event loop to the calls of its process, and goes on',
  async (_, clean) => {
    let isDone = false
    const ended = clean().finally(() => (isDone = true))
    while (decoded.bodies === 0) await store.get(ID)
    const [from, fromMs] = [platformTime.elapsed(), decoded.ms]
    const until = decoded.bodies + 20
    while (decoded.bodies < until && !isDone) await store.get(ID)
    const share = (decoded.ms - fromMs) / (platformTime.elapsed() - from)
    expect(isDone).toBe(false)
    expect(share).toBeLessThan(0.4)
    await ended
  },
)
