import { expect, test } from 'vitest'
import { newName, withBench, type MakeDriverHarness } from './driver-contract-harness.ts'

const MINUTE = 60_000

export function taskContract(make: MakeDriverHarness): void {
  const bench = withBench(make)

  test('a task that nobody has claimed is not there', async () => {
    expect(await bench.shard.tasks.load(newName('task'))).toBeUndefined()
  })

  test('a claimed task is empty at first, and held by its owner', async () => {
    const name = newName('task')
    expect(await bench.shard.tasks.claim(name, 'a', MINUTE)).toEqual({ progress: '', owner: 'a' })
    expect(await bench.other.tasks.load(name)).toEqual({ progress: '', owner: 'a' })
  })

  test('while one has it, another does not get it', async () => {
    const name = newName('task')
    await bench.shard.tasks.claim(name, 'a', MINUTE)
    expect(await bench.other.tasks.claim(name, 'b', MINUTE)).toBeUndefined()
    expect(await bench.other.tasks.save(name, 'b', 'mine', MINUTE)).toBe(false)
    expect(await bench.shard.tasks.load(name)).toEqual({ progress: '', owner: 'a' })
  })

  test('its owner may claim it again', async () => {
    const name = newName('task')
    await bench.shard.tasks.claim(name, 'a', MINUTE)
    await bench.shard.tasks.save(name, 'a', 'half', MINUTE)
    expect(await bench.shard.tasks.claim(name, 'a', MINUTE)).toEqual({ progress: 'half', owner: 'a' })
  })

  test('of concurrent claims, one succeeds', async () => {
    const name = newName('task')
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        (i % 2 === 0 ? bench.shard : bench.other).tasks.claim(name, `owner ${i}`, MINUTE),
      ),
    )
    const winners = claims.flatMap((state, i) => (state === undefined ? [] : [`owner ${i}`]))
    expect(winners).toHaveLength(1)
    expect(await bench.shard.tasks.load(name)).toEqual({ progress: '', owner: winners[0] })
  })

  test('progress comes back as it was saved', async () => {
    const name = newName('task')
    await bench.shard.tasks.claim(name, 'a', MINUTE)
    for (const progress of ['x', '', ' trailing ', '{"é":"🍃\'\\"\\\\"}', 'long '.repeat(20_000)]) {
      expect(await bench.shard.tasks.save(name, 'a', progress, MINUTE)).toBe(true)
      expect(await bench.shard.tasks.load(name)).toEqual({ progress, owner: 'a' })
    }
  })

  test('a lease of 0 gives the task up, and its progress stays', async () => {
    const name = newName('task')
    await bench.shard.tasks.claim(name, 'a', MINUTE)
    expect(await bench.shard.tasks.save(name, 'a', 'half', 0)).toBe(true)
    expect(await bench.shard.tasks.load(name)).toEqual({ progress: 'half', owner: undefined })
    expect(await bench.other.tasks.claim(name, 'b', MINUTE)).toEqual({ progress: 'half', owner: 'b' })
    expect(await bench.shard.tasks.save(name, 'a', 'more', MINUTE)).toBe(false)
  })

  test('a lease that has run out is free, and whoever had it finds it taken', async () => {
    const name = newName('task')
    await bench.shard.tasks.claim(name, 'a', 1)
    await bench.shard.tasks.save(name, 'a', 'half', 1)
    let state
    while (state === undefined) state = await bench.other.tasks.claim(name, 'b', MINUTE)
    expect(state).toEqual({ progress: 'half', owner: 'b' })
    expect(await bench.shard.tasks.save(name, 'a', 'more', MINUTE)).toBe(false)
    expect(await bench.shard.tasks.load(name)).toEqual({ progress: 'half', owner: 'b' })
  })

  test('names and owners are compared byte by byte', async () => {
    const name = newName('task')
    await bench.shard.tasks.claim(name, 'a', MINUTE)
    for (const other of [`${name} `, name.toUpperCase(), `${name}é`]) {
      expect(await bench.shard.tasks.claim(other, 'b', MINUTE)).toEqual({ progress: '', owner: 'b' })
    }
    for (const owner of ['a ', 'A', 'á'])
      expect(await bench.shard.tasks.claim(name, owner, MINUTE)).toBeUndefined()
  })
}
