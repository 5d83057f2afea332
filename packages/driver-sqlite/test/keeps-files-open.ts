/** A second process of a test: writes to a folder, closes it at a message, and ends as the message says. */
import { once } from 'node:events'
import { sqliteShards } from '../src/sqlite-shards.ts'

const [folder] = process.argv.slice(2) as [string]
const driver = await sqliteShards({ folder }).connect()
const [shard] = driver.shards
await shard!.entities.insert([{ id: Buffer.alloc(16, 5), version: 1, body: Buffer.from('b') }], { epoch: 1 })
process.send!('written')
const [message] = (await once(process, 'message')) as [string]
process.once('exit', () => {
  if (message === 'set the code late') process.exitCode = 3
})
await driver.close()
process.disconnect()
if (message === 'throw') throw new TypeError('No listener handles this error.')
if (message === 'close') process.exitCode = 3
