import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { createConnection, type Connection } from 'mysql2/promise'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTcpProxy } from '../../test/tcp-proxy.ts'
import {
  identityOf,
  identityStatement,
  uptimeStatement,
  type SessionIdentity,
} from '../settings/session-settings.ts'
import { createKiller, type Killer } from './killer.ts'
import { parseShardAddress } from './shard-address.ts'

const { urls } = await freshShards(1)
const url = urls[0] as string
let victim: Connection
let session: SessionIdentity
let reports: string[]
let killer: Killer

beforeEach(async () => {
  victim = await createConnection(url)
  victim.on('error', () => {})
  session = identityOf((await victim.query(identityStatement()))[0], (await victim.query(uptimeStatement))[0])
  reports = []
  killer = killerAt(url)
})

afterEach(() => victim.destroy())

const killerAt = (address: string): Killer =>
  createKiller({
    address: parseShardAddress(address, 'MySQL shard 0', undefined),
    connectTimeoutMs: 10_000,
    health: {
      answered: () => reports.push('answered'),
      failed: () => reports.push('failed'),
      silent: () => reports.push('silent'),
    },
  })

const isAlive = (): Promise<boolean> =>
  victim.query('SELECT 1').then(
    () => true,
    () => false,
  )

test('sessions are killed, also after one that has already ended', async () => {
  killer.kill({ ...session, thread: 1 })
  killer.kill(session)
  killer.kill(session)
  await killer.settled()
  expect(await isAlive()).toBe(false)
  expect(new Set(reports)).toEqual(new Set(['answered']))
})

test('a thread with the same number on another server is not killed', async () => {
  killer.kill({ ...session, server: JSON.stringify(['elsewhere', '3306', '2']) })
  await killer.settled()
  expect(await isAlive()).toBe(true)
})

test('a thread with the same number on a restarted server is not killed', async () => {
  killer.kill({ ...session, started: session.started - 60 })
  await killer.settled()
  expect(await isAlive()).toBe(true)
  killer.kill(session)
  await killer.settled()
  expect(await isAlive()).toBe(false)
})

test('a thread that is newer than the killer’s own is not killed, since the server must have restarted', async () => {
  const through = new URL(url)
  const proxy = await startTcpProxy(Number(through.port))
  through.port = String(proxy.port)
  const sent: string[] = []
  proxy.rewrite = (bytes) => {
    sent.push(bytes.toString('latin1'))
    return bytes
  }
  const killing = killerAt(through.href)
  killing.kill({ ...session, thread: session.thread + 1_000_000 })
  killing.kill({ ...session, thread: Number.NaN })
  await killing.settled()
  killing.kill(session)
  await killing.settled()
  await proxy.close()
  expect(sent.join('').match(/KILL \w+/g)).toEqual([`KILL ${session.thread}`])
})

test('a server that cannot be reached is reported to the breaker', async () => {
  const nowhere = killerAt('mysql://127.0.0.1:1/feed')
  nowhere.kill(session)
  await nowhere.settled()
  expect(reports).toEqual(['failed'])
})
