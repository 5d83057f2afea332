import { expect, test } from 'vitest'
import { createGuard } from './guard.ts'
import { isPublicAddress } from './public-address.ts'

const refusalOf = (address: string): string | undefined => createGuard().refusalOf(new URL(address))

test.each([
  'http://127.0.0.1/',
  'http://2130706433/',
  'http://0177.0.0.1/',
  'http://0x7f.1/',
  'http://0/',
  'http://127.1/',
  'http://10.1.2.3/',
  'http://100.64.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://172.31.255.255/',
  'http://192.168.1.1/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'http://[::1]/',
  'http://[::]/',
  'http://[::ffff:10.0.0.1]/',
  'http://[::ffff:a00:1]/',
  'http://[::10.0.0.1]/',
  'http://[64:ff9b::a00:1]/',
  'http://[fd00::1]/',
  'http://[fe80::1]/',
  'http://[fec0::1]/',
  'http://[ff02::1]/',
  'http://[2002:a00:1::]/',
])('the guard refuses %s, which is not on the public internet', (address) => {
  expect(refusalOf(address)).toBe('The address is not on the public internet.')
})

test.each(['http://93.184.215.14/', 'https://example.org/feed', 'http://[2606:2800:21f:cb07::1]:443/'])(
  'the guard lets %s through',
  (address) => {
    expect(refusalOf(address)).toBeUndefined()
  },
)

test('the guard refuses other schemes and ports', () => {
  expect(refusalOf('file:///etc/passwd')).toMatch(/http:\/\/ or https:\/\//)
  expect(refusalOf('ftp://example.org/')).toMatch(/http:\/\/ or https:\/\//)
  expect(refusalOf('http://example.org:6379/')).toBe('Port 6379 cannot be fetched, only ports 80 and 443.')
})

test('an allowed pair of host and port opens that port alone', () => {
  const guard = createGuard({ allow: ['127.0.0.1:4001'] })
  expect(guard.refusalOf(new URL('http://127.0.0.1:4001/'))).toBeUndefined()
  expect(guard.refusalOf(new URL('http://127.0.0.1:4002/'))).toMatch(/Port 4002/)
  expect(guard.refusalOf(new URL('http://127.0.0.1/'))).toMatch(/public internet/)
  expect(guard.refusalOf(new URL('http://localhost:4001/'))).toMatch(/Port 4001/)
})

test('text that is no IP address is not public', () => {
  expect([isPublicAddress('example.org'), isPublicAddress('')]).toEqual([false, false])
})
