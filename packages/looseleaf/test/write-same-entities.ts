/**
 * Writes entities that another process writes at the same time: `node write-same-entities.ts <rounds> <url>…`. Prints `ready`,
 * starts with the first byte on stdin, and prints the errors of its calls at the end.
 */
import { once } from 'node:events'
import { DataStore, deriveId, isLooseleafError, mysqlShards } from 'looseleaf'
import { shuffled } from './shuffled.ts'

const ENTITIES = 60

const [rounds, ...urls] = process.argv.slice(2)
const store = await DataStore.open({ shards: mysqlShards(urls) })
const ids = Array.from({ length: ENTITIES }, (_, number) => deriveId('row', [number]))
process.stdout.write('ready\n')
await once(process.stdin, 'data')

const failures: string[] = []
const note = (error: unknown): void => {
  failures.push(isLooseleafError(error) ? `${error.code}: ${error.message}` : String(error))
}
for (let round = 0; round < Number(rounds); round++) {
  // Most of these swaps share a statement. Each fails whose entity the other process has written first.
  await Promise.all(
    shuffled(ids).map((id) => store.put({ adds: 0, round: String(round) }, { id }).catch(note)),
  )
}
process.stdout.write('put\n')
await once(process.stdin, 'data')
for (let round = 0; round < Number(rounds); round++) {
  const add = (id: (typeof ids)[number]): Promise<unknown> =>
    store.update(id, (bag) => ({ ...bag, adds: Number(bag['adds']) + 1 })).catch(note)
  await Promise.all(shuffled(ids).map(add))
}
await store.close()
process.stdout.write(`${JSON.stringify(failures)}\n`)
process.stdin.destroy()
