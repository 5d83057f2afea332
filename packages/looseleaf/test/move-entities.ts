import { createInterface } from 'node:readline'
import { DataStore, mysqlShards, type EntityId } from 'looseleaf'
import { PLACES, RANKS } from './moving-entities.ts'

// Moves its entities from place to place until it gets a line. Prints the number of moves.

const [ids, ...urls] = process.argv.slice(2) as [string, ...string[]]
const store = await DataStore.open({ shards: mysqlShards(urls), onWarning: () => {} })
let isAsked = false
createInterface(process.stdin).once('line', () => (isAsked = true))
process.stdout.write('ready\n')
let moves = 0

while (!isAsked) {
  for (const id of ids.split(',') as EntityId[]) {
    const place = Math.floor(Math.random() * PLACES)
    const rank = Math.floor(Math.random() * RANKS)
    await store.put({ list: 'all', tag: 'all', place, rank }, { id })
    moves++
  }
}

await store.close()
process.stdout.write(`${moves}\n`)
process.exit()
