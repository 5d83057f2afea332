import { expect, test } from 'vitest'
import { aptSettings, debianMirror } from './debian-mirror.ts'

test("the mirror is the release's own, not one of its updates or of foreign suites with its name", () => {
  const targets = [
    'https://packages.example.com/apt bookworm main',
    'http://mirror.example.com/debian-security/ bookworm-security main',
    'http://mirror.example.com/debian/ bookworm-updates main',
    'http://mirror.example.com/debian/ bookworm contrib',
    'http://near.example.com/debian/ bookworm main',
  ].join('\n')
  expect(debianMirror(targets, 'bookworm')).toBe('http://near.example.com/debian/')
  expect(debianMirror(targets, 'trixie')).toBeUndefined()
  expect(debianMirror('', 'bookworm')).toBeUndefined()
})

test("apt gets only the machine's network settings", () => {
  const settings = aptSettings(
    '/f',
    [
      'Acquire::http::Proxy "http://proxy.example.com:3128";',
      'Acquire::Retries "3";',
      'Acquire::Languages:: "de";',
      'APT::Update::Post-Invoke:: "rm -f /var/cache/apt/archives/*.deb";',
    ].join('\n'),
  )
  expect(settings).toContain('Acquire::http::Proxy "http://proxy.example.com:3128";\nAcquire::Retries "3";\n')
  expect(settings).not.toMatch(/Post-Invoke|"de"/)
  const paths = [...settings.matchAll(/^Dir::\S+ "([^"]*)";$/gm)].map(([, path]) => path)
  expect(paths.filter((path) => path !== '/dev/null' && !path?.startsWith('/f/'))).toEqual([])
})
