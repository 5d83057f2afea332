/** A second process of a test: increments a counter and inserts, in a folder that the test writes to as well. */
import { randomBytes } from 'node:crypto'
import { isLooseleafError } from '@looseleaf/core'
import { sqliteShards } from '../src/sqlite-shards.ts'

const [folder, id, adds] = process.argv.slice(2) as [string, string, string]
const counter = Buffer.from(id, 'hex')
const driver = await sqliteShards({ folder }).connect()
const entities = driver.shards[0]?.entities
if (entities === undefined) throw new Error('The folder has no shard.')

for (let added = 0; added < Number(adds);) {
  const [base] = await entities.readVersions([counter])
  if (base === undefined) throw new Error('The counter is not there.')
  const row = { id: counter, base, version: base + 1, body: Buffer.from('from the other process') }
  const [won] = await entities.replace([row], { epoch: 1 })
  if (won !== true) continue
  added++
  await entities.insert([{ id: randomBytes(16), version: 1, body: Buffer.from('b') }], { epoch: 1 })
}

await entities
  .replace([{ id: counter, base: 0, version: 1, body: null }], { epoch: 2 })
  .catch((error: unknown) => {
    if (!isLooseleafError(error, 'STALE_EPOCH')) throw error
  })
await driver.close()
