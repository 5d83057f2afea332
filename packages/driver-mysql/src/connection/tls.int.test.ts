import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Shard } from '@looseleaf/core'
import { findServer, startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createAuthority, hasOpenssl, type Authority } from '../../test/certificates.ts'
import { ended, runForgetful } from '../../test/run-forgetful.ts'
import { startTcpProxy } from '../../test/tcp-proxy.ts'
import { mysqlShards } from '../mysql-shards.ts'
import type { MysqlTlsOptions } from './shard-address.ts'

describe.skipIf(!hasOpenssl)(
  `a server with a certificate${hasOpenssl ? '' : ' (left out: needs openssl)'}`,
  () => {
    let folder: string
    let servers: RunningServers
    let authority: Authority
    let ca: Buffer
    let otherCa: Buffer

    const certFile = (): string => join(folder, 'server.pem')
    const keyFile = (): string => join(folder, 'server.key')

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'looseleaf-tls-'))
      authority = await createAuthority(folder, 'authority')
      ca = await readFile(authority.caFile)
      otherCa = await readFile((await createAuthority(folder, 'another')).caFile)
      await authority.issue('DNS:localhost', certFile(), keyFile())
      servers = await startServers(1, {
        database: 'feed',
        inMemory: true,
        serverArguments: [
          `--ssl-cert=${certFile()}`,
          `--ssl-key=${keyFile()}`,
          `--ssl-ca=${authority.caFile}`,
        ],
      })
    })

    afterAll(async () => {
      await servers?.stop()
      await rm(folder, { recursive: true, force: true })
    })

    /** Gives the server a certificate for these names. */
    async function certify(names: string): Promise<void> {
      await authority.issue(names, certFile(), keyFile())
      const admin = await createConnection(servers.urls[0] as string)
      const reload = findServer()?.flavor === 'mysql' ? 'ALTER INSTANCE RELOAD TLS' : 'FLUSH SSL'
      await admin.query(reload).finally(() => admin.end())
    }

    async function connect(host: string, tls: true | MysqlTlsOptions, port?: number): Promise<Shard> {
      const url = new URL(servers.urls[0] as string)
      url.hostname = host
      if (port !== undefined) url.port = String(port)
      const driver = await mysqlShards([url.href], { tls }).connect()
      const shard = driver.shards[0] as Shard
      // Several connections, so that TLS sessions are resumed.
      await Promise.all(Array.from({ length: 8 }, () => shard.now()))
      await driver.close()
      return shard
    }

    const anotherName = {
      code: 'SHARD_DENIED',
      retryable: false,
      message: expect.stringMatching(/certificate is for another host name or address/),
    }
    const notTrusted = {
      code: 'SHARD_DENIED',
      retryable: false,
      message: expect.stringMatching(/certificate is not trusted/),
    }

    test('a server with a certificate is used by its name only', async () => {
      await certify('DNS:localhost')
      await expect(connect('localhost', { ca })).resolves.toBeDefined()
      // An address is not a name, and not localhost either.
      await expect(connect('127.0.0.1', { ca })).rejects.toMatchObject(anotherName)
      await certify('DNS:db.example')
      await expect(connect('localhost', { ca })).rejects.toMatchObject(anotherName)
    })

    test('a TLS connection keeps a process running during a call only', async () => {
      await certify('DNS:localhost')
      const url = new URL(servers.urls[0] as string)
      url.hostname = 'localhost'
      for (const what of ['idle', 'busy']) {
        expect(await runForgetful(url.href, what, authority.caFile)).toEqual(ended)
      }
    })

    test('a server with a certificate for its address is used by that only', async () => {
      await certify('IP:127.0.0.1')
      await expect(connect('127.0.0.1', { ca })).resolves.toBeDefined()
      await expect(connect('localhost', { ca })).rejects.toMatchObject(anotherName)
      await certify('IP:127.0.0.2,DNS:127.0.0.1')
      await expect(connect('127.0.0.1', { ca })).rejects.toMatchObject(anotherName)
    })

    test('a certificate of another or an unknown authority is rejected', async () => {
      await certify('DNS:localhost,IP:127.0.0.1')
      await expect(connect('localhost', { ca: otherCa })).rejects.toMatchObject(notTrusted)
      await expect(connect('127.0.0.1', { ca: otherCa })).rejects.toMatchObject(notTrusted)
      await expect(connect('localhost', true)).rejects.toMatchObject(notTrusted)
    })

    test("a URL with tls=true verifies the server by Node's authorities", async () => {
      await certify('DNS:localhost')
      const url = new URL(servers.urls[0] as string)
      url.hostname = 'localhost'
      url.search = '?tls=true'
      await expect(mysqlShards([url.href]).connect()).rejects.toMatchObject(notTrusted)
      process.env['NODE_EXTRA_CA_CERTS'] = authority.caFile
      onTestFinished(() => void delete process.env['NODE_EXTRA_CA_CERTS'])
      expect(await runForgetful(url.href, 'idle')).toEqual(ended)
    })

    test('a server gets the password only after its certificate is accepted', async () => {
      await certify('DNS:db.example')
      const url = new URL(servers.urls[0] as string)
      const proxy = await startTcpProxy(Number(url.port))
      const sent: Buffer[] = []
      proxy.rewrite = (bytes) => {
        sent.push(bytes)
        return bytes
      }
      await expect(connect('127.0.0.1', { ca }, proxy.port)).rejects.toMatchObject(anotherName)
      await proxy.close()
      // The bytes are the request for TLS and its handshake; the user would follow them.
      expect(Buffer.concat(sent).includes(url.username)).toBe(false)
      expect(sent.length).toBeGreaterThan(0)
    })

    test('a connection that breaks during the TLS handshake is SHARD_UNAVAILABLE', async () => {
      await certify('DNS:localhost')
      const url = new URL(servers.urls[0] as string)
      const proxy = await startTcpProxy(Number(url.port))
      let packets = 0
      proxy.rewrite = (bytes) => {
        // The first packet requests TLS, and the second begins it.
        if (++packets === 2) proxy.cut()
        return bytes
      }
      const connecting = connect('localhost', { ca }, proxy.port)
      await expect(connecting).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', retryable: true })
      await proxy.close()
    })
  },
)
