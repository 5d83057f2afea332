import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createAuthority, hasOpenssl } from '../../test/certificates.ts'
import { startClearPasswordServer } from '../../test/clear-password-server.ts'
import { mysqlShards } from '../mysql-shards.ts'

const token = (): string => 'a token'

test('a password is never sent in clear text without TLS', async () => {
  const server = await startClearPasswordServer()
  onTestFinished(() => server.close())
  const shard = { port: server.port, user: 'feed', password: token, database: 'feed' }
  await expect(mysqlShards([shard]).connect()).rejects.toMatchObject({
    code: 'SHARD_DENIED',
    message: expect.stringMatching(/in clear text.*tls/),
  })
  expect(server.answers).toEqual([])
})

test.skipIf(!hasOpenssl)(
  `a password is sent in clear text to a verified server that asks for it${hasOpenssl ? '' : ' (left out: needs openssl)'}`,
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'looseleaf-clear-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const authority = await createAuthority(folder, 'authority')
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    await authority.issue('DNS:localhost', certFile, keyFile)
    const certificate = { cert: await readFile(certFile), key: await readFile(keyFile) }
    const server = await startClearPasswordServer(certificate)
    onTestFinished(() => server.close())
    const shard = { host: 'localhost', port: server.port, user: 'feed', password: token, database: 'feed' }
    const tls = { ca: await readFile(authority.caFile) }
    // The server hangs up then.
    await expect(mysqlShards([shard], { tls }).connect()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    expect(server.answers.map((answer) => answer.subarray(4).toString())).toEqual(['a token\0'])
  },
)
