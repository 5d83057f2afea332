import { memoryShards } from '@looseleaf/driver-sqlite'
import { expect, test } from 'vitest'
import { openStore } from '../../test/stores.ts'
import { placeToText } from '../clean/place-text.ts'
import { loadWitnesses, saveWitnesses, witnessTask } from './witness-record.ts'

const place = { key: [Buffer.from('ada'), 1n], entityId: Buffer.alloc(16, 7) }

test('the witnesses of a table are stored on its shard, and damaged ones are left out', async () => {
  const driver = await memoryShards(1).connect()
  await openStore({ driver, indexes: [] })
  const [shard] = driver.shards
  const load = async () => [...(await loadWitnesses(shard!, ['index_a', 'index_b'], {})).values()]
  const none = { places: [], lostAt: 0 }
  expect(await load()).toEqual([none, none])
  const record = { places: [place, place], lostAt: 5 }
  await saveWitnesses(shard!, 'index_a', record, 'me', {})
  expect(await load()).toEqual([record, none])
  for (const [places, found] of [
    [[5, 'x', placeToText(place)], [place]],
    ['all', []],
  ]) {
    await shard!.tasks.claim(witnessTask('index_b'), 'me', 1_000)
    await shard!.tasks.save(witnessTask('index_b'), 'me', JSON.stringify({ places, lostAt: 'now' }), 0)
    expect(await load()).toEqual([record, { places: found, lostAt: 0 }])
  }
})
