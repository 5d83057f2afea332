import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DataStore, defineIndex, deriveId, sqliteShards } from 'looseleaf'
import { expect, onTestFinished, test } from 'vitest'
import { seedSample } from '../sample/seed.ts'
import { cardsOf } from './cards.ts'
import { newestEntries } from './entries.ts'
import { likeId } from './ids.ts'
import { openSite } from './site.ts'

const entriesByTime = defineIndex('entries_by_time', {
  properties: { kind: 'string', published: 'time' },
  shardOn: 'id',
})
const byShape = defineIndex('by_shape', { properties: { shape: 'string' }, shardOn: 'shape' })

test('entities of the version without kinds appear on the site, and other entities stay unchanged', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-old-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const shards = sqliteShards({ folder, shards: 2 })
  const old = await DataStore.open({ shards, indexes: [entriesByTime, byShape], migrate: true })
  const now = new Date('2026-06-01T12:00:00Z')
  const [entry_id, user_id] = [old.newId(), old.newId()]
  const bags = [
    { id: user_id, kind: 'person', name: 'ann', full_name: 'Ann', bio: '', hue: 1, joined: now },
    { id: entry_id, kind: 'entry', title: 'Kept', user_id, published: now },
    { id: likeId(entry_id, user_id), kind: 'like', entry_id, user_id, liked: now },
    { kind: 'comment', entry_id, user_id, text: 'Kept too', commented: now },
    {
      id: deriveId('setting', 'sample data'),
      kind: 'setting',
      name_of_setting: 'sample data',
      value: 'then',
    },
    ...Array.from({ length: 300 }, () => ({ kind: 'session', user_id, signed_in: now, notice: '{}' })),
    { shape: 'round' },
  ]
  await old.putMany(bags)
  await old.close()

  for (let start = 0; start < 2; start++) {
    const site = await openSite({ shards, cleaner: false })
    const reader = site.reader()
    const [card, ...others] = await cardsOf(reader, (await newestEntries(reader)).items, user_id)
    expect(card).toMatchObject({
      entry: { id: entry_id, title: 'Kept' },
      person: { name: 'ann' },
      comments: { items: [{ text: 'Kept too' }], total: 1 },
      likes: { items: [{ user_id }], total: 1 },
      liked: true,
    })
    expect(others).toEqual([])
    expect(await seedSample(site.data)).toBe(0)
    const sessions = await site.data.sessions.byUser.all({ user_id })
    expect(sessions).toHaveLength(300)
    expect(sessions.filter(({ notice }) => notice !== undefined)).toEqual([])
    const names = (await site.store.indexes()).map(({ name }) => name)
    expect(names).toContain('by_shape')
    expect(names).not.toContain('entries_by_time')
    expect((await site.store.getAll(byShape, { shape: 'round' }))[0]).not.toHaveProperty('_kind')
    await site.close()
  }
})
