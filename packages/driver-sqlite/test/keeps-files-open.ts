/** A second process of a test: writes to a folder, and closes it and ends at a message. */
import { once } from 'node:events'
import { sqliteShards } from '../src/sqlite-shards.ts'

const [folder] = process.argv.slice(2) as [string]
const driver = await sqliteShards({ folder }).connect()
const [shard] = driver.shards
await shard!.entities.insert([{ id: Buffer.alloc(16, 5), version: 1, body: Buffer.from('b') }], { epoch: 1 })
process.send!('written')
await once(process, 'message')
await driver.close()
process.exitCode = 3
process.disconnect()
