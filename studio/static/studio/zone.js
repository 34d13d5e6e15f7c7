// Tells the server the time zone of the browser, for the times on the next pages.

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const told = `studio-zone=${zone}`;
const YEAR = 31_536_000;

if (zone && !document.cookie.split("; ").includes(told)) {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `${told}; Path=/; Max-Age=${YEAR}; SameSite=Lax${secure}`;
}
