/** Order matters: later browsers also claim to be those that follow. */
const BROWSERS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bChromium\/|\bHeadlessChrome\//, 'Chromium'],
  [/\bChrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\biPhone\b|\biPad\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b|\bX11\b/, 'Linux'],
]

/** Returns a name for people, such as “Firefox on Linux”, of the browser that sent this User-Agent header. */
export function browserName(userAgent: string | undefined): string {
  const nameIn = (list: typeof BROWSERS): string | undefined =>
    list.find(([pattern]) => pattern.test(userAgent ?? ''))?.[1]
  const [browser, system] = [nameIn(BROWSERS), nameIn(SYSTEMS)]
  if (browser === undefined) return system === undefined ? 'A browser' : `A browser on ${system}`
  return system === undefined ? browser : `${browser} on ${system}`
}
