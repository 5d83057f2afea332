import { unchanged } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineKind } from '../src/index.ts'
import { openStore } from './issues.ts'

/*
 * Versions of a program that rename the property `place` to `location`, by the recipe of the README. At each step two neighbours run side
 * by side.
 */

const name = z.string()
const indexes = { byClient: { by: [{ client: 'string' }] } } as const
const V1 = defineKind('appt', { schema: z.object({ client: name, place: name }), indexes })
const V2 = defineKind('appt', {
  schema: z.object({ client: name, place: name, location: name.optional() }),
  indexes,
})
const V3 = defineKind('appt', {
  schema: z.object({ client: name, place: name.optional(), location: name }),
  indexes,
})
const V4 = defineKind('appt', { schema: z.object({ client: name, location: name }), indexes })

interface Version {
  readonly read: (id: string) => Promise<string | undefined>
  /** Ways to write a place. Each returns the id of the entity. */
  readonly writes: readonly ((id: string | undefined, place: string) => Promise<string>)[]
  /** Changes another property. */
  readonly touch: (id: string) => Promise<unknown>
}

type Calls = Pick<ReturnType<typeof V1.in>, 'get' | 'put' | 'update'>

function version(
  kind: { in(store: Awaited<ReturnType<typeof openStore>>): unknown },
  store: Awaited<ReturnType<typeof openStore>>,
  readName: string,
  writtenNames: readonly string[],
): Version {
  const appts = kind.in(store) as Calls
  const values = (place: string): never =>
    Object.fromEntries(writtenNames.map((written) => [written, place])) as never
  const put = async (id: string | undefined, place: string): Promise<string> => {
    const item = await appts.put({
      client: 'Ada',
      ...(values(place) as object),
      ...(id !== undefined && { id }),
    } as never)
    return item.id
  }
  return {
    read: async (id) => ((await appts.get(id)) as Readonly<Record<string, string>> | undefined)?.[readName],
    writes: [
      put,
      async (id, place) => (id === undefined ? put(id, place) : (await appts.update(id, values(place))).id),
    ],
    touch: (id) => appts.update(id, ({ client }) => ({ client: `${client}.` })),
  }
}

test('a property is renamed in four versions, of which two run side by side, and no update is lost', async () => {
  const store = await openStore(V1)
  const both = ['place', 'location']
  const versions = [
    version(V1, store, 'place', ['place']),
    version(V2, store, 'place', both),
    version(V3, store, 'location', both),
    version(V4, store, 'location', ['location']),
  ] as const
  /** The last written place of each entity. */
  const places = new Map<string, string>()
  let written = 0

  /** Writes each old entity, and new ones, by every sequence of two writes. Both versions read the last written place at any time. */
  async function runTogether(pair: readonly Version[]): Promise<void> {
    const requireLatest = async (id: string): Promise<void> => {
      for (const { read } of pair) expect(await read(id)).toBe(places.get(id))
    }
    const writes = pair.flatMap((each) => each.writes)
    const sequences = writes.flatMap((first) => writes.map((second) => [first, second] as const))
    const old = [...places.keys()]
    for (const id of old) await requireLatest(id)
    for (const [i, sequence] of [
      ...sequences,
      ...old.map((_, n) => sequences[n % sequences.length]!),
    ].entries()) {
      let id = old[i - sequences.length]
      for (const write of sequence) {
        const place = `Room ${++written}`
        id = await write(id, place)
        places.set(id, place)
        await requireLatest(id)
        for (const { touch } of pair) await touch(id)
        await requireLatest(id)
      }
    }
  }

  const [first, second, third, fourth] = versions
  await runTogether([first, second])
  const { complete } = await V2.in(store).byClient.updateWhere(
    {},
    ({ place, location }) => (location === place ? unchanged : { location: place }),
    { scatter: true },
  )
  expect(complete).toBe(true)
  await runTogether([second, third])
  await runTogether([third, fourth])
  expect(places.size).toBe(48)
})
