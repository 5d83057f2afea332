import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { DataStore, memoryShards, type DataStoreOptions } from 'looseleaf'
import { expect, test } from 'vitest'
import { runArticle } from '../src/article.ts'
import { createServer, Note } from '../src/fastify.ts'

test('the program of the article finds its entity by an index that was added at runtime', async () => {
  expect(await runArticle(memoryShards(2))).toEqual({ byUser: 1, byLink: 1 })
})

test('the notes server answers invalid notes by 400 and stale versions by 409, and closes its store', async () => {
  const options: DataStoreOptions = { shards: memoryShards(2), indexes: Note.indexes, migrate: true }
  const store = await DataStore.open(options)
  const server = createServer(store)
  const owner = store.newId()
  const note = { owner, text: 'Hello', at: new Date(0).toISOString() }
  const created = await server.inject({ method: 'POST', url: '/notes', payload: note })
  expect(created.statusCode).toBe(201)
  const { id, version } = created.json<{ id: string; version: number }>()
  const url = `/notes/${id}/${version}`
  const empty = await server.inject({ method: 'PUT', url, payload: { text: '' } })
  expect([empty.statusCode, empty.json()]).toEqual([
    400,
    expect.objectContaining({ issues: [expect.anything()] }),
  ])
  expect((await server.inject({ method: 'PUT', url, payload: { text: 'Hello, again' } })).statusCode).toBe(
    200,
  )
  expect((await server.inject({ method: 'PUT', url, payload: { text: 'Mine' } })).statusCode).toBe(409)
  const missing = await server.inject({
    method: 'PUT',
    url: `/notes/${store.newId()}/1`,
    payload: { text: 'x' },
  })
  expect(missing.statusCode).toBe(404)
  const listed = await server.inject({ url: `/notes?owner=${owner}` })
  expect(listed.json()).toMatchObject({ items: [{ id, text: 'Hello, again' }] })
  await server.close()
  await expect(store.get(id)).rejects.toMatchObject({ code: 'CLOSED' })
})

test('tests of a program on node:test end by themselves, although they open a store and a cleaner', async () => {
  const file = fileURLToPath(new URL('../src/own-test/visits.node-test.ts', import.meta.url))
  const program = ['--conditions=@looseleaf/source', '--disable-warning=ExperimentalWarning', '--test', file]
  const { stdout } = await promisify(execFile)(process.execPath, program, { timeout: 60_000 })
  expect(stdout).toMatch(/pass 2\n/)
})
