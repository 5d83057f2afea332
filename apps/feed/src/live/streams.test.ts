import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { memoryShards } from 'looseleaf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSite, type Site } from '../domain/site/site.ts'
import { createStreams, type Receiver, type Streams } from './streams.ts'

let site: Site
let streams: Streams
beforeEach(async () => {
  site = await openSite({ shards: memoryShards(1), cleaner: false })
  const limits = { perProcess: 2, perSession: 1, perAddress: 1 }
  streams = createStreams({ site, limits, onError: (error) => expect.unreachable(String(error)) })
})
afterEach(async () => {
  await streams.close()
  await site.close()
})

const visitor: Receiver = { session: undefined, address: '192.0.2.1' }

function response(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()))
}

test('a browser that has left before its stream opens takes no place', () => {
  const left = response()
  left.destroy()
  streams.open(visitor, left)
  expect(streams.hasRoom(visitor)).toBe(true)
})

test('a browser that leaves gives its place back', async () => {
  const open = response()
  streams.open(visitor, open)
  expect(streams.hasRoom(visitor)).toBe(false)
  open.emit('close')
  expect(streams.hasRoom(visitor)).toBe(true)
})

test('an error of a connection ends its stream alone', async () => {
  const broken = response()
  streams.open(visitor, broken)
  broken.emit('error', new Error('read ECONNRESET'))
  expect(broken.destroyed).toBe(true)
  expect(streams.hasRoom({ ...visitor, address: '192.0.2.2' })).toBe(true)
})

test('closed streams have no room', async () => {
  await streams.close()
  expect(streams.hasRoom(visitor)).toBe(false)
})
