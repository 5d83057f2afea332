import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRandom } from '@looseleaf-tooling/random'
import type { Backend } from '../src/backends/backend.ts'
import { runBench } from '../src/bench.ts'
import type { Side } from '../src/sides/side.ts'
import { createEntry } from '../src/workload/entry.ts'
import { PAGE, scenarioNames } from '../src/workload/scenarios.ts'

/** Within a `describe`: what holds for every backend. Nothing here looks at a time. */
export function checkBackend(open: () => Promise<Backend>): void {
  let backend: Backend
  beforeAll(async () => {
    backend = await open()
  })
  afterAll(() => backend?.close())

  const both = (): [writer: Side, reader: Side][] => {
    const [looseleaf, handWritten] = backend.sides
    return [
      [looseleaf, handWritten],
      [handWritten, looseleaf],
    ]
  }

  test('what one side has put, both sides read the same, by id and by user', async () => {
    const random = createRandom(1)
    for (const [writer, reader] of both()) {
      const userId = random.uuid()
      const entries = Array.from({ length: PAGE + 5 }, () => createEntry(random, userId))
      const ids = await Promise.all(entries.map((entry) => writer.put(entry)))
      const expected = entries.map((entry, i) => ({ ...entry, id: ids[i] as string }))
      const newest = expected.toSorted((a, b) => b.published.getTime() - a.published.getTime()).slice(0, PAGE)
      for (const side of [writer, reader]) {
        expect(await side.get(ids[0] as string)).toEqual(expected[0])
        expect(await side.getMany(ids)).toEqual(expected)
        expect(await side.queryByUser(userId, PAGE)).toEqual(newest)
      }
    }
  })

  test('what one side has updated, the other side reads and can update', async () => {
    const random = createRandom(2)
    for (const [writer, reader] of both()) {
      const id = await writer.put(createEntry(random, random.uuid()))
      await writer.update(id, (bag) => ({ ...bag, likes: ['first'] }))
      await reader.update(id, (bag) => ({ ...bag, likes: [...(bag['likes'] as string[]), 'second'] }))
      for (const side of [writer, reader]) {
        expect(await side.get(id)).toMatchObject({ id, likes: ['first', 'second'] })
      }
    }
  })

  test('updates of both sides at once are all kept', async () => {
    const random = createRandom(3)
    const [looseleaf, handWritten] = backend.sides
    const id = await looseleaf.put({ ...createEntry(random, random.uuid()), likes: [] })
    const likes = Array.from({ length: 12 }, () => random.uuid())
    await Promise.all(
      likes.map((like, i) =>
        (i % 2 === 0 ? looseleaf : handWritten).update(id, (bag) => ({
          ...bag,
          likes: [...(bag['likes'] as string[]), like],
        })),
      ),
    )
    const entry = await handWritten.get(id)
    const found = entry?.['likes'] as string[] | undefined
    expect(found?.toSorted()).toEqual(likes.toSorted())
  })

  test('an entry that is not there is undefined for both sides', async () => {
    const nowhere = createRandom(4).uuid()
    for (const side of backend.sides) {
      expect(await side.get(nowhere)).toBeUndefined()
      expect(await side.getMany([nowhere, nowhere])).toEqual([undefined, undefined])
      expect(await side.queryByUser(nowhere, PAGE)).toEqual([])
    }
  })

  test('every scenario runs on both sides, with one caller and with several', async () => {
    const result = await runBench(backend, {
      only: scenarioNames,
      callers: [4, 1],
      rounds: 2,
      seconds: 0.02,
      entries: 100,
      users: 4,
      seed: 5,
    })
    expect(result.scenarios.map(({ scenario, callers }) => `${scenario} ${callers}`)).toEqual(
      scenarioNames.flatMap((scenario) => [`${scenario} 4`, `${scenario} 1`]),
    )
    for (const { sides, ratio } of result.scenarios) {
      for (const side of Object.values(sides)) {
        expect(side.samples).toHaveLength(2)
        for (const sample of side.samples) expect(sample.calls).toBeGreaterThan(0)
      }
      expect(ratio.median).toBeGreaterThan(0)
    }
  })
}
